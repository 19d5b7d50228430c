package admin

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/netip"
)

// Node is the server that the commands are about. Its methods are called by many goroutines at once. Those
// of the second group are called only after Serving has returned true; the server may stop meanwhile, and they
// must then still return something.
type Node interface {
	// Serving reports whether clients are served.
	Serving() bool
	// Version is the version line of srvr.
	Version() string
	// Environment is what envi prints, in its order.
	Environment() []Property
	// SystemProperties is the settings in force, by the names of Java's system properties, secrets masked.
	SystemProperties() []Property
	// TraceMask is the mask of stmk; it is kept and has no other effect.
	TraceMask() int64
	// SetTraceMask replaces it.
	SetTraceMask(mask int64)
	// Monitor is what mntr prints, without the prefix zk_; while the server does not serve, what can be said
	// of the process.
	Monitor() []Number
	// Ensemble is the server's place in its ensemble; nil for a standalone server, and for one that has lost
	// the quorum.
	Ensemble() *Ensemble

	// ReadOnly reports whether only read-only clients are served.
	ReadOnly() bool
	// Configuration is what conf prints.
	Configuration() Configuration
	// ConfigurationText is zoo.cfg as it was read, secrets masked.
	ConfigurationText() string
	// Connections is the clients of the plain and of the TLS port, by address.
	Connections() (plain, secure []Connection)
	// ResetConnections is crst.
	ResetConnections()
	// Stats is what srvr prints.
	Stats() Stats
	// ResetStats is srst.
	ResetStats()
	// Directories is what dirs prints.
	Directories() Directories
	// Sessions is what dump prints of sessions.
	Sessions() Sessions
	// Watches is the data watches, each once.
	Watches() []Watch
	// WatchSummary counts them.
	WatchSummary() WatchSummary
	// Digests is the digests of the tree that are retained, the oldest first.
	Digests() []Digest
	// LastSnapshot is the newest snapshot.
	LastSnapshot() LastSnapshot
	// ResetObservers resets the statistics of the connections to observers.
	ResetObservers()
	// Authorize returns nil if the credentials belong to somebody who has every permission on the root,
	// ErrNotAuthenticated or ErrNotAuthorized otherwise.
	Authorize(c Credentials) error
	// Snapshot writes a snapshot and opens it. It gives up when ctx is done.
	Snapshot(ctx context.Context) (*Snapshot, error)
	// SnapshotRefused counts a snapshot that the rate limit has refused.
	SnapshotRefused()
	// Restore replaces the state of this server by that of a snapshot file, compressed or not, and returns its last zxid. It
	// reads all of r, and checks it, before it changes anything. It returns ErrCannotRestore, having read
	// nothing, if this server cannot do it.
	Restore(ctx context.Context, r io.Reader) (zxid int64, err error)
	// RestoreRefused counts a restore that the rate limit has refused.
	RestoreRefused()
	// InsecureConnection counts a connection without TLS to a port that offers it.
	InsecureConnection()
}

// ErrCannotRestore is returned by Restore.
var ErrCannotRestore = errors.New("admin: this server cannot replace its state")

// What Authorize returns. Their texts are ZooKeeper's. Source: operations 3.3.
var (
	//lint:ignore ST1005 the text is ZooKeeper's
	ErrNotAuthenticated = errors.New("Not authenticated")
	//lint:ignore ST1005 the text is ZooKeeper's
	ErrNotAuthorized = errors.New("Not authorized")
)

// Credentials is the header Authorization, cut at its first blank, and who sent it.
type Credentials struct {
	Scheme string
	Auth   string
	Remote netip.Addr
	// Certificate is the one that the client has shown and that was checked; nil without.
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
