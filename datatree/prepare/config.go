package prepare

import (
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Config says what a Preparer allows. The zero value allows the least; see DefaultConfig.
type Config struct {
	// Digest appends the predicted digest of the tree to every txn (zookeeper.digest.enabled).
	Digest bool
	// EmptyClose leaves the list of ephemerals and the digest out of closeSession. Every server then deletes the
	// znodes that belong to the session in its own tree, as servers before 3.6 do
	// (closeSessionTxn.enabled=false).
	EmptyClose bool
	// EnforceQuota refuses a change that exceeds a hard quota (enforceQuota).
	EnforceQuota bool
	// ExtendedTypes allows TTL znodes to be created (extendedTypesEnabled).
	ExtendedTypes bool
	// MaxContainerNeverUsedMs is how long a container that never had a child is kept, in ms; 0
	// keeps it for good (znode.container.maxNeverUsedIntervalMs).
	MaxContainerNeverUsedMs int64
	// MaxTxnBytes bounds the size of a txn, which ACL entries of scheme auth can make much larger than
	// its request. ZooKeeper does not read larger records. 0 means DefaultMaxTxnBytes.
	MaxTxnBytes int
	// Providers are the schemes that an ACL may name.
	Providers auth.Providers
	// ReconfigEnabled allows reconfig (reconfigEnabled).
	ReconfigEnabled bool
	// Reconfigure decides a reconfig: it checks the version, parses, asks for a quorum of the new
	// members, and returns the text for /zookeeper/config. It must have no effect yet: the
	// permission is checked after it. Nil means that this server has no ensemble.
	Reconfigure func(r *proto.ReconfigRequest, zxid proto.Zxid) (config []byte, err proto.ErrCode)
	// Rest is called now and then while a multi is prepared, which may take long. It may release the lock of
	// State and take it again. Meanwhile txns that were prepared before may be applied. Nil means that the lock
	// is kept.
	Rest func()
	// Events receives messages for an operator. It may be nil.
	Events Events
}

// Events receives messages for an operator. The arguments are valid during the call.
type Events interface {
	// QuotaExceeded says that a change of path exceeds a quota. With a hard quota the change was refused, with a
	// soft quota it was made. There may be many calls in a row.
	QuotaExceeded(path []byte, hard bool)
	// SequenceExhausted says that the sequence counter of parent is at its limit: from the next
	// one on, sequential creates under it end in NodeExists.
	SequenceExhausted(parent []byte)
}

// DefaultMaxTxnBytes is the largest record that ZooKeeper reads with its default jute.maxbuffer.
// Source: storage 2.
const DefaultMaxTxnBytes = 2_097_150

// DefaultConfig returns ZooKeeper's defaults.
func DefaultConfig() Config {
	return Config{
		Digest:                  true,
		MaxContainerNeverUsedMs: 300_000,
		MaxTxnBytes:             DefaultMaxTxnBytes,
		Providers:               auth.DefaultProviders,
	}
}
