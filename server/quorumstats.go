package server

import (
	"time"

	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/zab"
)

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

	Outside   *zab.Outside   // this server has to stay outside of the ensemble
	Strangers []zab.Stranger // members with another history

	// Ensemble is what the admin commands say; nil without a quorum.
	Ensemble *admin.Ensemble
}

// roleGauges is the numbers of a member's role, none of a standalone server's.
func (s *monitor) roleGauges() []gauge {
	r, ok := s.role()
	if !ok {
		return nil
	}
	q := s.metrics.quorum
	all := []gauge{{"quorum_size", float64(r.Size), false, "Voters of the current configuration."}}
	if r.Leading {
		last, least, most := q.ProposalSize.View()
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
