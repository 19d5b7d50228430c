package zab

import (
	"strconv"

	"github.com/seed94657493/warren/proto"
)

// LinkID is the number of one connection between a learner and a leader, or 0 for the election channel. Each
// server numbers the connections that it knows by itself; a number is never used twice while the process lives.
type LinkID uint64

// Txn is one txn with its zxid. Payload is what the log stores and what PROPOSAL carries; the core neither reads
// nor changes it.
type Txn struct {
	Zxid    proto.Zxid
	Payload []byte
}

// State is the role that a server states in a notification. The values are those of the wire. Source:
// quorum-protocol 1.1.
type State int32

// The states.
const (
	Looking   State = 0
	Following State = 1
	Leading   State = 2
	Observing State = 3
)

// String returns the state in ZooKeeper's capitals.
func (s State) String() string {
	switch s {
	case Looking:
		return "LOOKING"
	case Following:
		return "FOLLOWING"
	case Leading:
		return "LEADING"
	case Observing:
		return "OBSERVING"
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// Type is the kind of a Message.
type Type uint8

// The messages. All but the last group are ZooKeeper's; to a peer that is not flagged as Warren each of them is
// one packet of the name. Source: quorum-protocol 3.1 and 4.
const (
	Notification Type = iota + 1 // a vote, on the election channel

	FollowerInfo // learner: first message; Epoch is acceptedEpoch
	ObserverInfo // the same from an observer
	LeaderInfo   // leader: the new Epoch
	// learner: promise not to follow an older epoch; Epoch is currentEpoch or -1, Zxid the last durable one.
	AckEpoch
	Diff         // leader: what is missing follows; Zxid is informational
	Trunc        // leader: cut the log after Zxid
	Snap         // leader: a whole state follows that holds at least all up to Zxid. Learner: the state was loaded
	Proposal     // leader: Txns offered in order
	Commit       // leader: the proposal at Zxid is committed (and, between Warren servers, all before)
	Inform       // leader to observer: Txns are committed
	Activate     // leader: like Commit, of a reconfiguration; Leader leads from now on. On the wire COMMITANDACTIVATE
	InformActive // leader to observer: the same with its one txn. On the wire INFORMANDACTIVATE
	NewLeader    // leader: end of the history; Epoch
	UpToDate     // leader: the learner may serve
	Ack          // learner: Zxid is durable, or (epoch, 0) for NewLeader and UpToDate
	Ping         // both: Zxid is the last proposed one
	SyncReply    // leader: answer to a forwarded sync

	// Never on the wire: the host of the leader sends Proposal and Commit for each txn in (After, Zxid] of
	// its log.
	Replay
	HandOver   // Warren leader: it stops; the receiver follows Leader without an election
	Probe      // Warren, election channel: asks what data the receiver has. Nonce
	ProbeReply // Warren, election channel: Zxid, Epoch is acceptedEpoch, Nonce repeated
)

var typeNames = [...]string{
	Notification: "NOTIFICATION", FollowerInfo: "FOLLOWERINFO", ObserverInfo: "OBSERVERINFO", LeaderInfo: "LEADERINFO",
	AckEpoch: "ACKEPOCH", Diff: "DIFF", Trunc: "TRUNC", Snap: "SNAP", Proposal: "PROPOSAL", Commit: "COMMIT",
	Inform: "INFORM", Activate: "COMMITANDACTIVATE", InformActive: "INFORMANDACTIVATE", NewLeader: "NEWLEADER",
	UpToDate: "UPTODATE", Ack: "ACK", Ping: "PING", SyncReply: "SYNC", Replay: "REPLAY", HandOver: "HANDOVER",
	Probe: "PROBE", ProbeReply: "PROBEREPLY",
}

// String returns the name as the protocol writes it.
func (t Type) String() string {
	if t >= Notification && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}

// Vote says which server should lead and why: the epoch and the last txn of that server. Source: quorum-protocol
// 3.4.
type Vote struct {
	Leader proto.ServerID
	Zxid   proto.Zxid // last logged txn of Leader; -1 if its database may be missing
	Epoch  int64      // currentEpoch of Leader (peerEpoch on the wire)
}

// exceeds reports whether the history that a vote says is later than that of another vote.
func (v Vote) exceeds(other Vote) bool {
	return v.Epoch > other.Epoch || v.Epoch == other.Epoch && v.Zxid > other.Zxid
}

// Message is a message of one server to another. It is a value; Txns and Config are shared and must not be
// changed.
//
// The constants of Type say which fields each type uses. Unused fields are zero.
type Message struct {
	Type Type
	From proto.ServerID
	To   proto.ServerID
	Link LinkID // the sender's number in Output.Send, the receiver's in Step

	Zxid  proto.Zxid
	After proto.Zxid // Replay
	Epoch int64
	Txns  []Txn

	State   State // Notification: of the sender
	Vote    Vote  // Notification
	Round   int64 // Notification: electionEpoch, the sender's logical clock
	Version int32 // Notification: format version, 0 for old peers; 2 in what the core sends

	Config        []byte // Notification: text of the committed configuration; NewLeader: of the last in the history
	Active        []byte // NewLeader between Warren servers: text of the committed configuration
	ConfigVersion int64  // FollowerInfo, ObserverInfo: version of the sender's committed configuration

	Leader proto.ServerID // HandOver, Activate, InformActive
	Nonce  uint64         // Probe, ProbeReply
	Token  uint64         // SyncReply: the token of the Core.Sync call
	// FollowerInfo, ObserverInfo, LeaderInfo: the sender understands batches and cumulative ACKs.
	Warren bool
	Repeat bool // FollowerInfo, ObserverInfo: the sender repeats its ACKEPOCH when LEADERINFO is repeated
	Blank  bool // FollowerInfo: the sender has lost its disk and must not be counted; see Config.Blank
	Whole  bool // FollowerInfo, ObserverInfo: the sender asks for the whole state; its promise counts

	// Lineage is that of the sender, nil if the sender speaks the Java protocol. Used in Notification,
	// FollowerInfo, ObserverInfo, LeaderInfo and NewLeader. In NewLeader it is the lineage that the learner has
	// when it has adopted the epoch.
	Lineage *Lineage
	Refused bool // LeaderInfo: the history of the learner is not that of the leader, which sends nothing more
	Final   bool // UpToDate: the identity in the lineage is final
	Summed  bool // Diff, Trunc: Sum is that of the txn which the learner keeps as its last one
	Sum     uint32
	// Bare is the checksum of the same txn without what a follower may leave out of its log; 0 if nothing may be, or
	// if the sender does not know: see Sums.
	Bare uint32
}
