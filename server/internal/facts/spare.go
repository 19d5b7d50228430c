package facts

import (
	"slices"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
)

// SpareVoters returns how many voters may fail, whichever they are, before a leader has no quorum in sync.
func (f *Facts) SpareVoters(r *host.QuorumRole) int {
	in := map[int64]bool{int64(f.host.ID): true}
	for i := range r.Others {
		if l := &r.Others[i]; l.Voter && l.Synced {
			in[int64(l.Peer)] = true
		}
	}
	return spareVoters(f.Membership(), in)
}

// spareVoters tells it by which servers are in sync. With groups, those fail that cost a majority of groups the
// fewest servers: the heaviest of each group, and the groups with the fewest of them.
func spareVoters(q *config.Quorum, in map[int64]bool) int {
	if !q.Hierarchical {
		up := 0
		for i := range q.Members {
			if m := &q.Members[i]; m.Role == config.Participant && in[m.ID] {
				up++
			}
		}
		return max(up-q.Voters()/2-1, 0)
	}
	var costs []int // by group with more than half of its weight in sync: how many must fail until it has less
	groups := 0
	for i := range q.Groups {
		var total, up int64
		var weights []int64
		for _, id := range q.Groups[i].Members {
			m := q.Member(id)
			if m == nil || m.Role != config.Participant {
				continue
			}
			if total += m.Weight; in[id] {
				up, weights = up+m.Weight, append(weights, m.Weight)
			}
		}
		if total == 0 {
			continue
		}
		groups++
		slices.Sort(weights)
		cost := 0
		for ; up > total/2; cost++ {
			up -= weights[len(weights)-1-cost]
		}
		if cost > 0 {
			costs = append(costs, cost)
		}
	}
	slices.Sort(costs)
	least := 0 // how many must fail until there is no quorum
	for _, cost := range costs[:max(len(costs)-groups/2, 0)] {
		least += cost
	}
	return max(least-1, 0)
}
