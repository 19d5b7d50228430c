package figures

import "sync/atomic"

// Quorum holds the figures of a server in an ensemble. A standalone server has them too, at zero, like a
// standalone ZooKeeper. The code that runs the ensemble adds to them, from any goroutine. Times are ms. Source:
// operations 2.3 and 4.4.
type Quorum struct {
	Looking          *Counter // the server began to look for a leader
	Proposals        *Counter // by this leader
	Commits          *Counter // by this leader
	Diffs            *Counter // learners that this leader has brought up to date by DIFF or TRUNC
	Snaps            *Counter // learners that this leader has brought up to date by SNAP
	LearnerProposals *Counter // received by this learner
	LearnerCommits   *Counter // received by this learner; of an observer, the INFORMs
	Revalidations    *Counter // sessions that a learner asked this leader about
	Disloyal         *Counter // this leader stepped down because a voter left it

	ElectionTime, FollowerSyncTime, ObserverSyncTime *Summary
	// From the loss of the leader to the next broadcast phase.
	UnavailableTime       *Summary
	LeaderUnavailableTime *Summary // the same, on the server that leads afterwards

	// How many learners are being brought up to date by the log, or by a SNAP, at the begin and at the end of
	// each.
	InflightDiffs, InflightSnaps *Summary
	diffsNow, snapsNow           atomic.Int64

	// From the time in a txn's header, by the clock of the leader, to the named moment.
	QuorumAck     *Summary // a quorum has acknowledged it, at the leader
	ProposalAck   *Summary // this server's own ACK leaves
	ProposalDelay *Summary // the PROPOSAL has arrived at a follower
	CommitDelay   *Summary // the COMMIT or INFORM has arrived at a learner
	AckLatency    *summarySet

	ProposalSize Sizes // of the leader's proposals, bytes
}

// DiffBegins notes that one more learner is being brought up to date by the log, until end is called.
func (q *Quorum) DiffBegins() (end func()) { return underWay(&q.diffsNow, q.InflightDiffs) }

// SnapBegins is DiffBegins for a SNAP.
func (q *Quorum) SnapBegins() (end func()) { return underWay(&q.snapsNow, q.InflightSnaps) }

// underWay counts one more in now until end is called, and notes the count in all at both times.
func underWay(now *atomic.Int64, all *Summary) (end func()) {
	all.Observe(now.Add(1))
	return func() { all.Observe(now.Add(-1)) }
}

// NewQuorum returns the figures of an ensemble and adds them to m.
func NewQuorum(m *Metrics) *Quorum {
	return &Quorum{
		Looking:   m.Counter("looking_count", "Times this server began to look for a leader."),
		Proposals: m.Counter("proposal_count", "Proposals of this leader."),
		Commits:   m.Counter("commit_count", "Commits of this leader."),
		Diffs:     m.Counter("diff_count", "Learners that this leader brought up to date with txns."),
		Snaps: m.Counter("snap_count",
			"Learners that this leader brought up to date with a snapshot: expensive."),
		LearnerProposals: m.Counter("learner_proposal_received_count", "Proposals that this learner received."),
		LearnerCommits:   m.Counter("learner_commit_received_count", "Commits that this learner received."),
		Revalidations:    m.Counter("revalidate_count", "Sessions that learners asked this leader about."),
		Disloyal: m.Counter("quit_leading_due_to_disloyal_voter",
			"Times this leader stepped down because a voter turned away."),

		ElectionTime:     m.Basic("election_time", "Duration of an election, ms."),
		FollowerSyncTime: m.Basic("follower_sync_time", "Time for this follower to be brought up to date, ms."),
		ObserverSyncTime: m.Basic("observer_sync_time", "Time for this observer to be brought up to date, ms."),
		UnavailableTime:  m.Basic("unavailable_time", "Time without a quorum, ms."),
		LeaderUnavailableTime: m.Basic("leader_unavailable_time",
			"Time without a quorum that this server ended by leading, ms."),
		InflightDiffs: m.Basic("inflight_diff_count", "Learners that are being brought up to date with txns."),
		InflightSnaps: m.Basic("inflight_snap_count", "Learners that are being brought up to date with snapshots."),

		QuorumAck: m.Advanced("quorum_ack_latency",
			"Time from a proposal to its acknowledgement by a quorum, ms."),
		ProposalAck: m.Advanced("proposal_ack_creation_latency",
			"Time from a proposal to this server's acknowledgement, ms."),
		ProposalDelay: m.Advanced("proposal_latency", "Time from a proposal to its arrival at this follower, ms."),
		CommitDelay: m.Advanced("commit_propagation_latency",
			"Time from a proposal to the arrival of its commit at this learner, ms."),
		AckLatency: m.summarySet("ack_latency",
			"Time from a proposal to the acknowledgement of one server, ms, by its id."),
	}
}
