package zab

// Weakness is a known defect of ZooKeeper's implementations, or a step left out of Zab, that the core is built to
// exclude. Under the build tag weak a Config can ask for one of them. So the tests can show that they detect it.
// Source: quorum-protocol 6.9 and 15.3.
type Weakness uint32

// The weaknesses, each with the identifier that the specification gives it.
const (
	AckBeforeHistory      Weakness = 1 << iota // B1, B2, D6: NEWLEADER is acknowledged before the history is durable
	EpochBeforeHistory                         // B3, D5: currentEpoch is written before the history
	TrafficBeforeUpToDate                      // B4, R5: live traffic between NEWLEADER and UPTODATE
	SnapshotInMemory                           // B5: a snapshot that was only loaded counts as the database
	AnyAckCounts                               // B6, R4: any ACK is taken for that of NEWLEADER
	VoteBeforeDrain                            // B7, D3: the election begins while the log is still being written
	TruncKeepsMemory                           // B9: the zxid before TRUNC is still reported after it
	WindowHole                                 // B10: synchronised txns are missing from the window
	DeliverBeforeDurable                       // B11: a txn is applied before it is in this server's log
	NewLeaderBeforeSnap                        // B12: NEWLEADER leaves before the snapshot
	TruncBlindly                               // B14: TRUNC to a txn that is not in the log is obeyed
	RepeatedZxid                               // B16, R17: a proposal that repeats a zxid is logged
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
	weaknessEnd
)
