package words

// RoleGauges is the numbers of a member's role, none of a standalone server's.
func (s *Reporter) RoleGauges() []gauge {
	r, ok := s.Role()
	if !ok {
		return nil
	}
	q := s.Metrics.Quorum
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
