package meta

import (
	"errors"

	"github.com/seed94657493/warren/proto"
)

// Errors that callers check.
var (
	// ErrEpoch is returned for an epoch that contradicts an earlier promise, and by Reconcile for epochs that
	// contradict the database.
	ErrEpoch = errors.New("meta: epochs are inconsistent")
	// ErrDamaged is returned by Open for a meta.db that cannot be read and may not be replaced.
	ErrDamaged = errors.New("meta: meta.db is damaged")
	// ErrWrongServer is returned by Open for a meta.db that belongs to another server.
	ErrWrongServer = errors.New("meta: meta.db belongs to another server")
	// ErrLocked is returned by Open if another process has meta.db open.
	ErrLocked = errors.New("meta: meta.db is open in another process")
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("meta: closed")
)

// Epochs are the two promises of Zab. Accepted is at least Current.
type Epochs struct {
	Accepted int64 // of the last LEADERINFO that was accepted; 0 if none was
	Current  int64 // of the last NEWLEADER that was acknowledged; 0 if none was
}

// NoServer is the id in the Identity of a server that was always standalone.
const NoServer proto.ServerID = -1

// Identity says which server a directory belongs to. It is made once, with meta.db.
type Identity struct {
	ServerID  proto.ServerID // myid; NoServer for a server that was always standalone
	Instance  string         // 32 random hex digits
	CreatedMs int64          // wall clock, ms since 1970
}

// Config is a configuration of the ensemble, in the form of a dynamic configuration file.
type Config struct {
	Version proto.Zxid // zxid of the reconfig that made it
	Text    string
}

// Snapshot is an entry of the catalogue: a snapshot file that was read completely and found good.
type Snapshot struct {
	Name       string
	Zxid       proto.Zxid
	Size       int64  // bytes of the file
	Checksum   uint32 // CRC-32C of the file's bytes
	VerifiedMs int64  // wall clock, ms since 1970
}

// Store holds what a server keeps beside its log and its snapshots. Its methods may be called by any number of
// goroutines. It satisfies snapshot.Catalogue.
type Store interface {
	// Epochs returns the durable epochs.
	Epochs() Epochs
	// SetAccepted promises not to follow a leader of an older epoch. It returns ErrEpoch if epoch is below the
	// accepted one. Call it before ACKEPOCH leaves, or before a leader proposes the epoch.
	SetAccepted(epoch int64) error
	// SetCurrent records that this server has adopted the history of epoch's leader, and in the same step the
	// lineage of that history; "" keeps the stored lineage. It returns ErrEpoch if epoch is below the current one
	// or above the accepted one. Call it when that history is durable, before the ACK of NEWLEADER leaves.
	SetCurrent(epoch int64, lineage string) error
	// Lineage returns where the history in the directory comes from, as zab.Lineage encodes it, "" if that is not
	// known.
	Lineage() string
	// SetLineage records what was learned about the lineage since the current epoch was adopted.
	SetLineage(lineage string) error
	// Blank reports whether the database was missing, and no leader has told this server since that it counts: it
	// must take part in no decision. A directory that another server has made is not blank.
	Blank() bool
	// SetBlank records whether this server is blank. Set it before anything makes the database exist. Clear it
	// when the whole history of the ensemble is durable here, before any message that counts leaves. Source:
	// zab.Config.Blank.
	SetBlank(blank bool) error

	// Reconcile checks the epochs of an ensemble member against its database, whose last zxid it gets, sets those
	// that were never set, and returns the result. It returns ErrEpoch for contradictions that must keep the
	// server from taking part. A standalone server does not call it. Source: storage 1.4.
	Reconcile(last proto.Zxid) (Epochs, error)

	// Identity returns the identity of this server.
	Identity() Identity
	// Config returns the last committed configuration; ok is false if there never was one.
	Config() (c Config, ok bool)
	// SetConfig records the last committed configuration.
	SetConfig(c Config) error

	// SessionBase returns the base that was set last, 0 if none was.
	SessionBase() int64
	// SetSessionBase records that the ids of sessions below base may have been given out, and ids from base on have
	// not. A base below the recorded one changes nothing. Call it before an id below base is given out. Source:
	// package sessions.
	SetSessionBase(base int64) error

	// Addresses returns the IP addresses of other servers by host name, as SetAddresses recorded them last; none
	// if they were lost. They are hints: a server that starts while the name server is away tries them.
	Addresses() map[string][]string
	// SetAddresses records the addresses of other servers.
	SetAddresses(addresses map[string][]string) error

	// Snapshot returns the size and checksum of a snapshot file when it was verified.
	Snapshot(name string) (size int64, checksum uint32, ok bool)
	// SnapshotOf returns the zxid of a snapshot file that had this size and checksum when it was verified, whatever
	// its name.
	SnapshotOf(size int64, checksum uint32) (zxid proto.Zxid, ok bool)
	// PutSnapshot records that a snapshot file has just been verified. The catalogue keeps the newest 1000.
	PutSnapshot(name string, zxid proto.Zxid, size int64, checksum uint32) error
	// DropSnapshot forgets a snapshot file; it is no error if it is not known.
	DropSnapshot(name string) error
	// Snapshots returns the catalogue, the newest zxid first.
	Snapshots() []Snapshot

	// Elsewhere reports whether ZooKeeper may have used the directory since this store was used last, or before it
	// was made. In an ensemble that raises the epoch files; of a standalone server nothing tells.
	Elsewhere() bool

	// Close releases meta.db. Later setters return ErrClosed.
	Close() error
}

var (
	_ Store = (*DB)(nil)
	_ Store = (*Mem)(nil)
)
