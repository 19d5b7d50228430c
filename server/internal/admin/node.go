package admin

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/netip"
	"time"
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
	Environment() Properties
	// SystemProperties returns the settings in force, by the names of Java's system properties, secrets masked.
	SystemProperties() Properties
	// TraceMask returns the mask of stmk; it is kept and has no other effect.
	TraceMask() int64
	// SetTraceMask replaces it.
	SetTraceMask(mask int64)
	// Monitor returns the lines of mntr, without the prefix zk_. While the server does not serve it returns the
	// lines about the process.
	Monitor() Numbers
	// Ensemble returns the server's place in its ensemble; nil for a standalone server, and for one without a
	// quorum.
	Ensemble() *Ensemble

	// ReadOnly reports whether only read-only clients are served.
	ReadOnly() bool
	// Configuration returns the content of conf.
	Configuration() Configuration
	// ConfigurationText returns zoo.cfg as it was read, secrets masked.
	ConfigurationText() string
	// Connections returns the clients of the plain and of the TLS port, by address.
	Connections() (plain, secure []Connection)
	// ResetConnections does what crst asks for.
	ResetConnections()
	// Stats returns the content of server_stats.
	Stats() Stats
	// ResetStats does what srst asks for.
	ResetStats()
	// Directories returns the content of dirs.
	Directories() Directories
	// SessionIDsOpen reports whether a client that knows the id of a session can take the session over.
	SessionIDsOpen() bool
	// Sessions returns the sessions that dump prints; its maps are not nil.
	Sessions() Sessions
	// Watches returns the data watches, each once.
	Watches() []Watch
	// WatchSummary returns their number.
	WatchSummary() WatchSummary
	// Top returns the first most keys of each kind by requests, bytes or time; paths, sessions and addresses only if
	// all is set.
	Top(by string, most int, all bool) Top
	// Slow returns up to most of the newest slow operations, the newest first; paths, sessions and traces only if all
	// is set.
	Slow(most int, all bool) Slow
	// Digests returns the kept digests of the tree, oldest first.
	Digests() []Digest
	// LastSnapshot returns the newest snapshot.
	LastSnapshot() LastSnapshot
	// Authorize returns nil if the credentials have every permission on the root, ErrNotAuthenticated,
	// ErrNotAuthorized or ErrTooManyGuesses otherwise.
	Authorize(c Credentials) error
	// Snapshot writes a snapshot and opens it. It gives up when ctx is done.
	Snapshot(ctx context.Context) (*Snapshot, error)
	// SnapshotRefused counts a snapshot that the rate limit has refused.
	SnapshotRefused()
	// Restore replaces the state of this server by that of a snapshot file, compressed or not, and returns its
	// last zxid. It reads and checks all of r before it changes anything. If this server cannot do it, it returns
	// ErrCannotRestore without reading r.
	Restore(ctx context.Context, r io.Reader) (zxid int64, err error)
	// RestoreRefused counts a restore that the rate limit has refused.
	RestoreRefused()
	// InsecureConnection counts a connection without TLS to a port that offers it.
	InsecureConnection()
}

// ErrCannotRestore is returned by Restore if this server cannot replace its state.
var ErrCannotRestore = errors.New("admin: this server cannot replace its state")

// Errors of Authorize. Their texts are ZooKeeper's. Source: operations 3.3.
var (
	//lint:ignore ST1005 the text is ZooKeeper's
	ErrNotAuthenticated = errors.New("Not authenticated")
	//lint:ignore ST1005 the text is ZooKeeper's
	ErrNotAuthorized = errors.New("Not authorized")
)

// ErrTooManyGuesses is returned by Authorize without a look at the credentials: too many passwords from that address
// were wrong. ZooKeeper lets anyone guess.
var ErrTooManyGuesses = errors.New("too many wrong passwords from this address: wait a minute")

// Credentials is the header Authorization, cut at its first blank, and the identity of its sender.
type Credentials struct {
	Scheme string
	Auth   string
	Remote netip.Addr
	// Certificate is the verified certificate of the client; nil without one.
	Certificate *x509.Certificate
}

// Snapshot is a snapshot file that is complete and durable.
type Snapshot struct {
	Zxid int64 // in its name
	Size int64 // bytes in the file
	Body io.ReadCloser
}

// Property is a name with its value.
type Property struct{ Name, Value string }

// Number is one line of mntr.
type Number struct {
	Name  string
	Value string // decimal digits as JSON writes them, unless Text is set
	Text  bool   // the value is not a number
}
