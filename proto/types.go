package proto

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Zxid is the position of a txn in the order all servers agree on: the epoch of the leader that
// proposed it in the high 32 bits, a counter within the epoch in the low 32. Compared as a
// signed number.
type Zxid int64

// MakeZxid builds a Zxid from its two halves.
func MakeZxid(epoch int64, counter uint32) Zxid { return Zxid(epoch<<32 | int64(counter)) }

// Epoch returns the epoch half.
func (z Zxid) Epoch() int64 { return int64(z) >> 32 }

// Counter returns the counter half.
func (z Zxid) Counter() uint32 { return uint32(z) }

// String returns z in the form ZooKeeper prints: 0x and lower-case hex.
func (z Zxid) String() string { return "0x" + strconv.FormatUint(uint64(z), 16) }

// SessionID identifies a session: the id of the server that created it in the top byte, a clock
// and a counter below. Source: client-protocol 3.4.
type SessionID int64

// String returns id in the form ZooKeeper prints: 0x and lower-case hex.
func (id SessionID) String() string { return "0x" + strconv.FormatUint(uint64(id), 16) }

// ServerID identifies a member of an ensemble, the N of server.N.
type ServerID int64

// OpCode is an operation of the client protocol, and the type of a txn.
type OpCode int32

// String returns the operation's name.
func (op OpCode) String() string {
	if name, ok := opNames[op]; ok {
		return name
	}
	return "op(" + strconv.Itoa(int(op)) + ")"
}

// AllOps lists every operation, by code.
var AllOps = slices.Sorted(maps.Keys(opNames))

// ErrCode is an error of the client protocol. The zero value is OK; every other value is an
// error and may be compared with errors.Is.
type ErrCode int32

// Error returns the code's name, number and meaning.
func (e ErrCode) Error() string {
	if info, ok := errorInfos[e]; ok {
		return fmt.Sprintf("zookeeper: %s (%d): %s", info.name, int32(e), info.meaning)
	}
	return fmt.Sprintf("zookeeper: unknown error (%d)", int32(e))
}

// Name returns the code's name as in the table of errors, or its number.
func (e ErrCode) Name() string {
	if info, ok := errorInfos[e]; ok {
		return info.name
	}
	return strconv.Itoa(int(e))
}

// Known reports whether clients know the code. An unknown code must never be sent: it makes
// existing clients fail their connection loop.
func (e ErrCode) Known() bool { _, ok := errorInfos[e]; return ok }

// Retriable reports whether the same request may succeed if it is sent again. It does not say that the first
// request had no effect.
func (e ErrCode) Retriable() bool { return errorInfos[e].retriable }

// AllErrors lists every error code, by code.
var AllErrors = slices.Sorted(maps.Keys(errorInfos))

type errInfo struct {
	name      string
	retriable bool
	meaning   string
}

// CreateMode is the flags field of the create family: what kind of znode. It is an enumeration,
// not a bit set. Source: client-protocol 8.1.
type CreateMode int32

// The kinds of znodes a client may create.
const (
	ModePersistent              CreateMode = 0
	ModeEphemeral               CreateMode = 1
	ModePersistentSequential    CreateMode = 2
	ModeEphemeralSequential     CreateMode = 3
	ModeContainer               CreateMode = 4
	ModePersistentTTL           CreateMode = 5
	ModePersistentSequentialTTL CreateMode = 6
)

// Valid reports whether m is one of the modes.
func (m CreateMode) Valid() bool { return m >= ModePersistent && m <= ModePersistentSequentialTTL }

// IsEphemeral reports whether the znode belongs to the session.
func (m CreateMode) IsEphemeral() bool { return m == ModeEphemeral || m == ModeEphemeralSequential }

// IsSequential reports whether a sequence suffix is appended to the path.
func (m CreateMode) IsSequential() bool {
	return m == ModePersistentSequential || m == ModeEphemeralSequential || m == ModePersistentSequentialTTL
}

// IsTTL reports whether the znode expires when it is left alone.
func (m CreateMode) IsTTL() bool {
	return m == ModePersistentTTL || m == ModePersistentSequentialTTL
}

// Permission bits of an ACL entry.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// EventType is the kind of a watch event.
type EventType int32

// The events a server sends.
const (
	EventNodeCreated         EventType = 1
	EventNodeDeleted         EventType = 2
	EventNodeDataChanged     EventType = 3
	EventNodeChildrenChanged EventType = 4
)

// String returns the event's name.
func (t EventType) String() string {
	switch t {
	case EventNodeCreated:
		return "NodeCreated"
	case EventNodeDeleted:
		return "NodeDeleted"
	case EventNodeDataChanged:
		return "NodeDataChanged"
	case EventNodeChildrenChanged:
		return "NodeChildrenChanged"
	}
	return "event(" + strconv.Itoa(int(t)) + ")"
}

// StateSyncConnected is the only state a server puts into a WatcherEvent.
const StateSyncConnected int32 = 3

// WatcherType selects watches in checkWatches and removeWatches.
type WatcherType int32

// The selections. Source: client-protocol 9.6.
const (
	WatcherChildren            WatcherType = 1
	WatcherData                WatcherType = 2
	WatcherAny                 WatcherType = 3
	WatcherPersistent          WatcherType = 4
	WatcherPersistentRecursive WatcherType = 5
)

// Modes of addWatch.
const (
	AddWatchPersistent          int32 = 0
	AddWatchPersistentRecursive int32 = 1
)

// Special values of the xid field.
const (
	XidNotification int32 = -1
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// LeaveZxid is the zxid of a reply to a ping that no client has sent. A Warren server that is about to end the
// connection asks its client so to go to another server; other clients ignore what answers a ping, except kazoo before
// it was answered its auth packets. Warren's own.
const LeaveZxid Zxid = -2

// Special values of the stored ephemeralOwner. Source: storage 8.3.
const (
	// OwnerContainer marks a container.
	OwnerContainer SessionID = -1 << 63
	// ttlOwnerMask is the top byte of a TTL znode's owner.
	ttlOwnerMask uint64 = 0xff << 56
	// MaxTTL is the longest time to live, in ms.
	MaxTTL int64 = 1<<40 - 1
)

// TTLOwner encodes a time to live of 1 to MaxTTL ms as an ephemeralOwner.
func TTLOwner(ttl int64) SessionID { return SessionID(ttlOwnerMask | uint64(ttl)) }

// TTLOf returns the time to live in ms that owner encodes; ok is false if owner is not a TTL
// znode's.
func TTLOf(owner SessionID) (ttl int64, ok bool) {
	if uint64(owner)>>40 != 0xff0000 {
		return 0, false
	}
	return int64(owner) & MaxTTL, true
}

// IsSessionOwner reports whether owner is the id of a session, so that the znode is an ephemeral.
func IsSessionOwner(owner SessionID) bool {
	if owner == 0 || owner == OwnerContainer {
		return false
	}
	_, isTTL := TTLOf(owner)
	return !isTTL
}

// DigestVersion is the version of the tree digest that is computed and compared.
const DigestVersion int32 = 2

// Magic numbers of FileHeader.
const (
	MagicLog      int32 = 0x5a4b4c47 // "ZKLG"
	MagicSnapshot int32 = 0x5a4b534e // "ZKSN"
	FileVersion   int32 = 2
)

// DefaultMaxBuffer is the default of jute.maxbuffer: the largest frame a server accepts from a
// client, in bytes.
const DefaultMaxBuffer = 0xfffff

// PacketType is the kind of a QuorumPacket. Source: quorum-protocol 4.
type PacketType int32

// The packets between a learner and its leader.
const (
	PacketRequest           PacketType = 1  // a client's request, to the leader
	PacketProposal          PacketType = 2  // a txn offered at a zxid
	PacketAck               PacketType = 3  // the learner's promise that a txn, or a new epoch, is durable
	PacketCommit            PacketType = 4  // a proposal is to be applied
	PacketPing              PacketType = 5  // both directions: liveness; the answer lists touched sessions
	PacketRevalidate        PacketType = 6  // both directions: is a session alive
	PacketSync              PacketType = 7  // answer to a forwarded sync
	PacketInform            PacketType = 8  // a committed txn, to an observer
	PacketCommitAndActivate PacketType = 9  // commit of a reconfig
	PacketNewLeader         PacketType = 10 // end of the history that synchronization sends
	PacketFollowerInfo      PacketType = 11 // first packet of a follower
	PacketUpToDate          PacketType = 12 // the learner may serve clients
	PacketDiff              PacketType = 13 // the missing txns follow
	PacketTrunc             PacketType = 14 // cut the log back to a zxid
	PacketSnap              PacketType = 15 // a whole state follows
	PacketObserverInfo      PacketType = 16 // first packet of an observer
	PacketLeaderInfo        PacketType = 17 // the leader's new epoch
	PacketAckEpoch          PacketType = 18 // the learner's promise not to follow an older epoch
	PacketInformAndActivate PacketType = 19 // a committed reconfig, to an observer
)

var packetNames = [...]string{
	PacketRequest:           "REQUEST",
	PacketProposal:          "PROPOSAL",
	PacketAck:               "ACK",
	PacketCommit:            "COMMIT",
	PacketPing:              "PING",
	PacketRevalidate:        "REVALIDATE",
	PacketSync:              "SYNC",
	PacketInform:            "INFORM",
	PacketCommitAndActivate: "COMMITANDACTIVATE",
	PacketNewLeader:         "NEWLEADER",
	PacketFollowerInfo:      "FOLLOWERINFO",
	PacketUpToDate:          "UPTODATE",
	PacketDiff:              "DIFF",
	PacketTrunc:             "TRUNC",
	PacketSnap:              "SNAP",
	PacketObserverInfo:      "OBSERVERINFO",
	PacketLeaderInfo:        "LEADERINFO",
	PacketAckEpoch:          "ACKEPOCH",
	PacketInformAndActivate: "INFORMANDACTIVATE",
}

// String returns the name as the protocol writes it, such as FOLLOWERINFO.
func (t PacketType) String() string {
	if t >= PacketRequest && int(t) < len(packetNames) {
		return packetNames[t]
	}
	return "packet(" + strconv.Itoa(int(t)) + ")"
}

// LearnerProtocolVersion is the protocolVersion of LearnerInfo and LEADERINFO since Zab 1.0.
const LearnerProtocolVersion int32 = 0x10000

// Sizes of fixed records, in bytes.
const (
	StatSize          = 68
	StatPersistedSize = 60
	TxnHeaderSize     = 32
	TxnDigestSize     = 12
	RequestHeaderSize = 8
	ReplyHeaderSize   = 16
)
