package server

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/server/admin"
)

// quorumStats is what ZooKeeper's metrics say about the ensemble. A standalone server has them
// too, at zero, as ZooKeeper's has. Whoever runs the ensemble adds to the counters and summaries
// where the thing happens, from any goroutine, and gives set a function that tells the rest.
// Times are ms. Source: operations sections 2.3 and 4.4.
type quorumStats struct {
	looking          *counter // the server began to look for a leader
	proposals        *counter // by this leader
	commits          *counter // by this leader
	diffs, snaps     *counter // learners that this leader has brought up to date by a DIFF or TRUNC, by a SNAP
	learnerProposals *counter // received by this learner
	learnerCommits   *counter // received by this learner; of an observer, the INFORMs
	revalidations    *counter // sessions that a learner asked this leader about
	disloyal         *counter // the leader stepped down, since its oracle or a voter has turned away

	electionTime, followerSyncTime, observerSyncTime *summary
	// From the loss of the leader to the next broadcast phase, on every server and on the one that leads then.
	unavailableTime, leaderUnavailableTime *summary
	inflightDiffs, inflightSnaps           *summary // learners that are brought up to date by the log or by a SNAP, at the begin and end of each
	diffsNow, snapsNow                     atomic.Int64

	// From the time in a txn's header, which is the leader's, to the moment named.
	quorumAck     *summary // a quorum has acknowledged it; at the leader
	proposalAck   *summary // this server's own ACK leaves
	proposalDelay *summary // the PROPOSAL has arrived at a follower
	commitDelay   *summary // the COMMIT or INFORM has arrived at a learner
	ackLatency    *summarySet

	proposalSize sizes // of the leader's proposals, bytes

	role atomic.Pointer[func() quorumRole]
}

// quorumRole is what a member of an ensemble is at one moment.
type quorumRole struct {
	Mode string // as srvr says: leader, follower, observer or read-only
	Peer string // as zk_peer_state: "leading - broadcast"
	Size int    // voters of the current configuration

	// Of a leader only.
	Leading                                            bool
	Learners, SyncedFollowers, NonVoting, PendingSyncs int
	LeaderUptime                                       time.Duration

	// Of a leader and of a follower, which may serve observers too.
	Following       bool
	SyncedObservers int

	// Of an observer: the id of the server it learns from.
	Observing      bool
	ObserverMaster int64

	// Ensemble is what the admin commands say; nil without a quorum.
	Ensemble *admin.Ensemble
}

// underWay notes in all that one more is under way, of now; what it returns notes the end.
func (q *quorumStats) underWay(now *atomic.Int64, all *summary) (end func()) {
	all.observe(now.Add(1))
	return func() { all.observe(now.Add(-1)) }
}

func newQuorumStats(c *catalog) *quorumStats {
	return &quorumStats{
		looking:          c.counter("looking_count", "Times this server began to look for a leader."),
		proposals:        c.counter("proposal_count", "Proposals of this leader."),
		commits:          c.counter("commit_count", "Commits of this leader."),
		diffs:            c.counter("diff_count", "Learners that this leader brought up to date with txns."),
		snaps:            c.counter("snap_count", "Learners that this leader brought up to date with a snapshot: expensive."),
		learnerProposals: c.counter("learner_proposal_received_count", "Proposals that this learner received."),
		learnerCommits:   c.counter("learner_commit_received_count", "Commits that this learner received."),
		revalidations:    c.counter("revalidate_count", "Sessions that learners asked this leader about."),
		disloyal:         c.counter("quit_leading_due_to_disloyal_voter", "Times this leader stepped down because a voter turned away."),

		electionTime:          c.basic("election_time", "Time from the begin of an election to its end, ms."),
		followerSyncTime:      c.basic("follower_sync_time", "Time for this follower to be brought up to date, ms."),
		observerSyncTime:      c.basic("observer_sync_time", "Time for this observer to be brought up to date, ms."),
		unavailableTime:       c.basic("unavailable_time", "Time without a quorum, ms."),
		leaderUnavailableTime: c.basic("leader_unavailable_time", "Time without a quorum that this server ended by leading, ms."),
		inflightDiffs:         c.basic("inflight_diff_count", "Learners that are being brought up to date with txns."),
		inflightSnaps:         c.basic("inflight_snap_count", "Learners that are being brought up to date with snapshots."),

		quorumAck:     c.advanced("quorum_ack_latency", "Time from a proposal to its acknowledgement by a quorum, ms."),
		proposalAck:   c.advanced("proposal_ack_creation_latency", "Time from a proposal to this server's acknowledgement, ms."),
		proposalDelay: c.advanced("proposal_latency", "Time from a proposal to its arrival at this follower, ms."),
		commitDelay:   c.advanced("commit_propagation_latency", "Time from a proposal to the arrival of its commit at this learner, ms."),
		ackLatency:    c.summarySet("ack_latency", "Time from a proposal to the acknowledgement of one server, ms, by its id.", true),
	}
}

// set gives the function that tells the server's role; nil is a standalone server. It is called by any goroutine that asks
// for metrics, and must not block.
func (q *quorumStats) set(role func() quorumRole) {
	if role == nil {
		q.role.Store(nil)
		return
	}
	q.role.Store(&role)
}

// now returns the role, and false for a standalone server.
func (q *quorumStats) now() (quorumRole, bool) {
	if role := q.role.Load(); role != nil {
		return (*role)(), true
	}
	return quorumRole{}, false
}

// gauges is the numbers of a member's role, none of a standalone server's.
func (q *quorumStats) gauges() []gauge {
	r, ok := q.now()
	if !ok {
		return nil
	}
	all := []gauge{{"quorum_size", float64(r.Size), false, "Voters of the current configuration."}}
	if r.Leading {
		last, least, most := q.proposalSize.view()
		all = append(all,
			gauge{"learners", float64(r.Learners), false, "Learners that are connected to this leader."},
			gauge{"synced_followers", float64(r.SyncedFollowers), false, "Followers that are up to date."},
			gauge{"synced_non_voting_followers", float64(r.NonVoting), false, "Followers that are up to date and not in the configuration."},
			gauge{"pending_syncs", float64(r.PendingSyncs), false, "Requests sync that wait for an answer."},
			gauge{"leader_uptime", float64(r.LeaderUptime.Milliseconds()), false, "Time since this server began to lead, ms."},
			gauge{"last_proposal_size", float64(last), false, "Size of the last proposal in bytes, -1 before the first."},
			gauge{"min_proposal_size", float64(least), false, "Size of the smallest proposal in bytes, -1 before the first."},
			gauge{"max_proposal_size", float64(most), false, "Size of the largest proposal in bytes, -1 before the first."})
	}
	if r.Leading || r.Following {
		all = append(all, gauge{"synced_observers", float64(r.SyncedObservers), false, "Observers that learn from this server and are up to date."})
	}
	return all
}
