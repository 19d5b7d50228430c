package admin

import (
	"context"
	"io"
	"time"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/orders"
)

// Node is the server that the commands are about. Its methods are called by many goroutines at once. Those of the
// second group are called only after Serving has returned true; the server may stop meanwhile, and they must
// still return a value then.
type Node interface {
	// Serving reports whether clients are served.
	Serving() bool
	// Draining reports whether the server takes no more clients, because an operator drains it.
	Draining() bool
	// Stalled returns for how long clients have waited for the server itself, 0 if that is not too long. It returns
	// soon.
	Stalled() time.Duration
	// Environment returns the lines of envi, in its order.
	Environment() []config.Property
	// SystemProperties returns the settings in force, by the names of Java's system properties, secrets masked.
	SystemProperties() []config.Property
	// TraceMask returns the mask of stmk; it is kept and has no other effect.
	TraceMask() int64
	// SetTraceMask replaces it.
	SetTraceMask(mask int64)
	// Monitor returns the lines of mntr, without the prefix zk_. While the server does not serve it returns the
	// lines about the process.
	Monitor() []facts.Number
	// Quorum returns the server's place in its ensemble; nil for a standalone server, and for one without a quorum.
	Quorum() *facts.Quorum

	// ReadOnly reports whether only read-only clients are served.
	ReadOnly() bool
	// Configuration returns the content of conf.
	Configuration() facts.Configuration
	// ConfigurationText returns zoo.cfg as it was read, secrets masked.
	ConfigurationText() string
	// Connections returns the clients of the plain and of the TLS port, by address.
	Connections() (plain, secure []facts.Connection)
	// ResetConnections does what crst asks for.
	ResetConnections()
	// Stats returns the content of server_stats, without the sizes of directories.
	Stats() facts.Stats
	// ResetStats does what srst asks for.
	ResetStats()
	// Directories returns the content of dirs.
	Directories() facts.Directories
	// SessionIDsOpen reports whether a client that knows the id of a session can take the session over.
	SessionIDsOpen() bool
	// Dump returns the sessions that dump prints; its maps are not nil.
	Dump() facts.Dump
	// Watches returns the data watches, each once.
	Watches() []facts.Watch
	// WatchSummary returns their number.
	WatchSummary() facts.WatchSummary
	// Top returns the first most keys of each kind by requests, bytes or time; paths, sessions and addresses only if
	// all is set.
	Top(by string, most int, all bool) facts.Top
	// Slow returns up to most of the newest slow operations, the newest first; paths, sessions and traces only if all
	// is set.
	Slow(most int, all bool) facts.Slow
	// Digests returns the kept digests of the tree, oldest first.
	Digests() []facts.Digest
	// LastSnapshot returns the newest snapshot.
	LastSnapshot() facts.LastSnapshot
	// Authorize returns nil if the credentials have every permission on the root, facts.ErrNotAuthenticated,
	// facts.ErrNotAuthorized or facts.ErrTooManyGuesses otherwise.
	Authorize(c facts.Credentials) error
	// Snapshot writes a snapshot and opens it. It gives up when ctx is done.
	Snapshot(ctx context.Context) (*orders.Snapshot, error)
	// SnapshotRefused counts a snapshot that the rate limit has refused.
	SnapshotRefused()
	// Restore replaces the state of this server by that of a snapshot file, compressed or not, and returns its
	// last zxid. It reads and checks all of r before it changes anything. If this server cannot do it, it returns
	// orders.ErrCannotRestore without reading r.
	Restore(ctx context.Context, r io.Reader) (zxid int64, err error)
	// RestoreRefused counts a restore that the rate limit has refused.
	RestoreRefused()
	// InsecureConnection counts a connection without TLS to a port that offers it.
	InsecureConnection()
}
