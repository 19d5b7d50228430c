// Package defects lists what can be wrong with a server: known defects of other implementations, steps that are left
// out, guards that are taken away. The product has none of them. Each is a patch of its source, below patches, and
// test/defects/overlay makes an overlay of all of them. A test that is built with that overlay gives each server the
// defects that it asks for, and so shows that the checkers notice.
//
// The package imports nothing, because with the overlay every patched package imports it.
package defects

// Built reports whether the overlay is in this build: the patches make it true.
const Built = false

// Defect is one defect.
type Defect uint8

// The defects of package zab, each with the identifier that the specification gives it. Source: quorum-protocol 6.9
// and 15.3.
const (
	AckBeforeHistory      Defect = iota // B1, B2, D6: NEWLEADER is acknowledged before the history is durable
	EpochBeforeHistory                  // B3, D5: currentEpoch is written before the history
	TrafficBeforeUpToDate               // B4, R5: live traffic between NEWLEADER and UPTODATE
	SnapshotInMemory                    // B5: a snapshot that was only loaded counts as the database
	AnyAckCounts                        // B6, R4: any ACK is taken for that of NEWLEADER
	VoteBeforeDrain                     // B7, D3: the election begins while the log is still being written
	TruncKeepsMemory                    // B9: the zxid before TRUNC is still reported after it
	WindowHole                          // B10: synchronised txns are missing from the window
	DeliverBeforeDurable                // B11: a txn is applied before it is in this server's log
	NewLeaderBeforeSnap                 // B12: NEWLEADER leaves before the snapshot
	TruncBlindly                        // B14: TRUNC to a txn that is not in the log is obeyed
	RepeatedZxid                        // B16, R17: a proposal that repeats a zxid is logged
	// D1, D2: LEADERINFO and ACKEPOCH leave before acceptedEpoch is durable.
	EpochBeforeDurable
	OwnAckBeforeDurable // D9: the leader counts itself before its log has the txn
	AckBeforeDurable    // D8: a proposal is acknowledged before it is durable
	// quorum-protocol 5.1: an epoch that was promised before is promised again.
	EpochPromisedTwice
	BlankCounts // R16: a server that lost its disk helps to elect
	// R16: a blank server helps to elect after a restart between NEWLEADER and UPTODATE.
	BlankForgotten
	// quorum-protocol 6.3 rule 2: acknowledged, uncommitted txns are truncated.
	TruncUncommitted
	TruncAcrossEpochs  // quorum-protocol 6.3 rule 2: TRUNC crosses the boundary of an epoch
	OldLinks           // quorum-protocol 15.5.9: messages of a closed connection are obeyed
	CounterWraps       // quorum-protocol 1.4: the counter runs into the next epoch
	NewConfigAlone     // quorum-protocol 11.6: a pending configuration decides alone
	PromiseUnconfirmed // R16: a promise counts that may have been forgotten since
	InformBeforeCommit // quorum-protocol 12.2: an observer master shows what is only proposed
	// adr 0012: a leader steps down for a server that has promised a later epoch.
	LeaderYields
	HistoriesJoined  // adr 0012: histories are joined without being compared
	ObserversCount   // quorum-protocol 7.2: observers count for a commit
	SyncBeforeOwnLog // guarantee 5: a sync is answered before the leader itself has logged what is committed
	GapsTaken        // quorum-protocol 6.8 S3: proposals are taken although some are missing before them
	ofServer
)

// The defects of the server, by the package that has them.
const (
	// durable
	PersistedBeforeWrite  Defect = ofServer + iota // writes are reported durable before they are written
	SyncedBeforeFdatasync                          // writes are reported durable before they are synced
	SnapshotNamedTooFar                            // a snapshot has the name of the zxid after its last txn
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
	// a server does not learn that its sessions move, and keeps their connections over a handover
	MovesUntold
	// a new leader gives a session to a kept connection, though its client is elsewhere
	KeptFromOthers
	MovesUnnoted    // the history does not tell that sessions move
	HistoryUnread   // a kept connection goes on though the history tells that its session was elsewhere
	OwedForgotten   // a kept connection goes on without the requests that the former leader has lost
	AskedTwice      // it goes on with those that the former leader has not lost, too
	GrantUnawaited  // it goes on at the same leader before those that this one has not lost are there
	KeptOverSnap    // it goes on although the state was loaded anew
	SessionIDsAgain // a server whose clock was set back gives out ids of an earlier life again
	// a leader refuses requests of a learner's session as soon as it has expired, before its end is proposed
	RefusedBeforeEnd
	// requests that wait behind a sync are refused when another server asks for their session, which stays
	RefusedThoughStays
	NoConfigurationShown // a read-only server whose state is old shows an empty configuration
	SilentUndelivered    // what a server is told of a silent session counts although its client has come back since
	SilentUnnoted        // the history does not tell that the client of a silent session has come back to its server
	// sessions count as silent before the servers that have kept their connections can have asked for them
	AbandonedAtOnce
	SilentReclaimed // a kept connection goes on though its session counts as silent
	// what a server reports of a session that has no client counts although another server has its client by now
	SilentOverruled

	// serve
	EventAfterReply     // events leave after the reply to the request that caused them
	EventWithoutACL     // events are sent to clients that may not read the znode
	EventDropped        // an event is not sent while the client has other output
	WatchNotRegistered  // setWatches registers no child watches
	ReadOvertakesWrite  // a read is answered from a state without the client's own write
	ClientAheadAccepted // a client that has seen more than the server has is let in
	LostRequestPassed   // what waits behind a request that a handover has lost is executed by the next leader
	RefusalsUntold      // requests that were refused are said not to have been executed
	TailUnread          // outcomes are told from a log whose end is not written yet

	// prepare
	MultiNotUndone // later requests are decided as if the first changes of a multi that failed had been made
	MultiInPart    // the first changes of a multi that fails are made

	end
)

// Agreement returns the defects of package zab.
func Agreement() []Defect { return between(AckBeforeHistory, ofServer) }

// Server returns the defects of the server.
func Server() []Defect { return between(ofServer, end) }

func between(first, end Defect) (all []Defect) {
	for d := first; d < end; d++ {
		all = append(all, d)
	}
	return all
}

// names has the name of each defect, by which patches refer to it.
var names = [...]string{
	"AckBeforeHistory", "EpochBeforeHistory", "TrafficBeforeUpToDate", "SnapshotInMemory", "AnyAckCounts",
	"VoteBeforeDrain", "TruncKeepsMemory", "WindowHole", "DeliverBeforeDurable", "NewLeaderBeforeSnap",
	"TruncBlindly", "RepeatedZxid", "EpochBeforeDurable", "OwnAckBeforeDurable", "AckBeforeDurable",
	"EpochPromisedTwice", "BlankCounts", "BlankForgotten", "TruncUncommitted", "TruncAcrossEpochs", "OldLinks",
	"CounterWraps", "NewConfigAlone", "PromiseUnconfirmed", "InformBeforeCommit", "LeaderYields",
	"HistoriesJoined", "ObserversCount", "SyncBeforeOwnLog", "GapsTaken", "PersistedBeforeWrite",
	"SyncedBeforeFdatasync", "SnapshotNamedTooFar", "TruncKeepsSnapshots", "FullDiskForgets",
	"FirstSnapshotLate", "InstallKeepsSnapshots", "DetachedLogKept", "EpochsOutliveDatabase",
	"MarkerRemovedEarly", "TornBatchRefused", "AppliedTwice", "RevalidationSkipped", "ExpiryByFollower",
	"EphemeralsLostOnMove", "ForwardDropped", "DiffTooLate", "SyncWithoutQuorum", "SyncOvertakes",
	"LeaseOutlivesQuorum", "GenerationUnchecked", "ServesBeforeApplied", "MovedSessionKeepsWrite",
	"SnapshotBehind", "SnapWhileReplaced", "SupersededTaken", "CommitsOutliveLeader", "EarlierReplyTaken",
	"EarlyDropped", "FormerLinks", "ExpiryOfMoved", "OneFullDiskRefuses", "LateClockForgives", "MovesUntold",
	"KeptFromOthers", "MovesUnnoted", "HistoryUnread", "OwedForgotten", "AskedTwice",
	"GrantUnawaited", "KeptOverSnap",
	"SessionIDsAgain", "RefusedBeforeEnd", "RefusedThoughStays", "NoConfigurationShown",
	"SilentUndelivered", "SilentUnnoted", "AbandonedAtOnce", "SilentReclaimed", "SilentOverruled",
	"EventAfterReply", "EventWithoutACL", "EventDropped", "WatchNotRegistered", "ReadOvertakesWrite",
	"ClientAheadAccepted", "LostRequestPassed", "RefusalsUntold", "TailUnread", "MultiNotUndone", "MultiInPart",
}

// String is the name of the defect.
func (d Defect) String() string { return names[d] }

// Set is the defects of one server.
type Set struct{ bits [(end + 63) / 64]uint64 }

// Of returns a Set.
func Of(all ...Defect) (s Set) {
	for _, d := range all {
		s.bits[d/64] |= 1 << (d % 64)
	}
	return s
}

// Has reports whether a server has a defect.
func (s *Set) Has(d Defect) bool { return s.bits[d/64]&(1<<(d%64)) != 0 }
