// Package weakness lists defects that a server is built to exclude. Under the build tag weak a server can be started
// with some of them, which is how the simulator of whole ensembles shows that its checkers would notice. Without the
// tag a Set is empty and costs nothing. The defects of the agreement itself are in package zab.
package weakness

// Weakness is one defect.
type Weakness uint8

// The defects, by the package that has them.
const (
	None Weakness = iota

	// durable
	PersistedBeforeWrite  // writes are reported durable before they are written
	SyncedBeforeFdatasync // writes are reported durable before they are synced
	SnapshotNamedTooFar   // a snapshot has the name of the zxid after its last txn
	// a truncation keeps the snapshots that hold more, which are also written before the state was agreed on
	TruncKeepsSnapshots
	FullDiskForgets       // what a full disk has no room for is reported durable
	FirstSnapshotLate     // an epoch is adopted before there is a database
	InstallKeepsSnapshots // a state that was received leaves newer snapshots of an earlier leader
	DetachedLogKept       // the old log that a crash leaves below a new snapshot stays in use
	EpochsOutliveDatabase // a server that has lost its database, but not its epochs, votes
	MarkerRemovedEarly    // the operator's word that a server is new is forgotten before there is a database
	TornBatchRefused      // a write that a crash has torn keeps the server from starting
	AppliedTwice          // txns that arrive behind a state are applied to it twice

	// host
	RevalidationSkipped    // a follower lets a client go on with its session without asking the leader
	ExpiryByFollower       // a follower ends sessions by its own clock
	EphemeralsLostOnMove   // an ephemeral of a session is deleted when its client moves to another server
	ForwardDropped         // a follower answers OK to a request that it has not forwarded
	DiffTooLate            // the txns sent from the log begin one too late
	SyncWithoutQuorum      // a leader answers sync without hearing from a quorum
	SyncOvertakes          // a follower answers sync before the txns that the leader had committed are applied
	LeaseOutlivesQuorum    // a server answers clients long after its lease has ended
	GenerationUnchecked    // requests of connections of an earlier time of service are taken
	ServesBeforeApplied    // a server serves before its state holds everything that was agreed before
	MovedSessionKeepsWrite // a session that has moved may go on writing by its old server
	SnapshotBehind         // a state that is sent is said to reach further than it does
	SnapWhileReplaced      // a state is sent that a truncation is about to replace
	SupersededTaken        // requests of a client's earlier connection are taken after its newer one has begun
	CommitsOutliveLeader   // what a leader has told of commits counts after it
	EarlierReplyTaken      // the result of a request to another server answers a later one with the same xid
	EarlyDropped           // requests that arrive before a leader serves are lost
	FormerLinks            // packets of a link that this server has closed are taken
	ExpiryOfMoved          // a follower ends sessions that have moved away from it
	OneFullDiskRefuses     // writes are refused while one voter has no room
	LateClockForgives      // a session clock that is late gives every session its whole timeout
	// a server does not learn that its sessions move, and keeps their connections over a hand-over
	MovesUntold
	// a new leader gives a session to a kept connection, though its client is elsewhere
	KeptFromOthers
	SessionIDsAgain // a server whose clock was set back gives out ids of an earlier life again
	// a leader refuses requests of a learner's session as soon as it has expired, before its end is proposed
	RefusedBeforeEnd
	// requests that wait behind a sync are refused when another server asks for their session, which stays
	RefusedThoughStays
	NoConfigurationShown // a read-only server whose state is old shows an empty configuration

	// serve
	EventAfterReply     // events leave after the reply to the request that caused them
	EventWithoutACL     // events are sent to clients that may not read the znode
	EventDropped        // an event is not sent while the client has other output
	WatchNotRegistered  // setWatches registers no child watches
	ReadOvertakesWrite  // a read is answered from a state without the client's own write
	ClientAheadAccepted // a client that has seen more than the server has is let in
	LostRequestPassed   // what waits behind a request that a hand-over has lost is executed by the next leader

	// prepare
	MultiNotUndone // later requests are decided as if the first changes of a multi that failed had been made
	MultiInPart    // the first changes of a multi that fails are made

	end
)

// All returns every defect.
func All() (all []Weakness) {
	for w := None + 1; w < end; w++ {
		all = append(all, w)
	}
	return all
}

var names = [...]string{
	"None", "PersistedBeforeWrite", "SyncedBeforeFdatasync", "SnapshotNamedTooFar", "TruncKeepsSnapshots",
	"FullDiskForgets", "FirstSnapshotLate", "InstallKeepsSnapshots", "DetachedLogKept", "EpochsOutliveDatabase",
	"MarkerRemovedEarly", "TornBatchRefused", "AppliedTwice", "RevalidationSkipped", "ExpiryByFollower",
	"EphemeralsLostOnMove", "ForwardDropped", "DiffTooLate", "SyncWithoutQuorum", "SyncOvertakes",
	"LeaseOutlivesQuorum", "GenerationUnchecked", "ServesBeforeApplied", "MovedSessionKeepsWrite",
	"SnapshotBehind", "SnapWhileReplaced", "SupersededTaken", "CommitsOutliveLeader", "EarlierReplyTaken",
	"EarlyDropped", "FormerLinks", "ExpiryOfMoved", "OneFullDiskRefuses", "LateClockForgives", "MovesUntold",
	"KeptFromOthers", "SessionIDsAgain", "RefusedBeforeEnd", "RefusedThoughStays", "NoConfigurationShown",
	"EventAfterReply", "EventWithoutACL", "EventDropped", "WatchNotRegistered", "ReadOvertakesWrite",
	"ClientAheadAccepted", "LostRequestPassed", "MultiNotUndone", "MultiInPart",
}

// String is the name of the defect.
func (w Weakness) String() string { return names[w] }
