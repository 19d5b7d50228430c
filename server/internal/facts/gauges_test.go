package facts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/host"
)

// The role of a server decides which gauges exist, as in ZooKeeper.
func TestQuorumGaugesFollowTheRole(t *testing.T) {
	m := &Facts{Env: &env.Env{Config: &config.Config{},
		Metrics: &env.Metrics{Quorum: figures.NewQuorum(new(figures.Metrics))}}}
	q := m.Metrics.Quorum
	set := func(r *host.QuorumRole) {
		m.Role = func() (host.QuorumRole, bool) {
			if r == nil {
				return host.QuorumRole{}, false
			}
			return *r, true
		}
	}
	set(nil)
	names := func() (all []string) {
		for _, g := range m.roleGauges() {
			if g.unlisted {
				continue
			}
			name, value := g.line()
			all = append(all, name+" "+value)
		}
		return all
	}
	require.Empty(t, names())
	set(&host.QuorumRole{Peer: "observing - broadcast", Size: 3, Observing: true, ObserverMaster: 2})
	require.Equal(t, []string{"quorum_size 3"}, names())
	set(&host.QuorumRole{Peer: "following - broadcast", Size: 3, Following: true})
	require.Equal(t, []string{"quorum_size 3"}, names(), "a follower that does not serve observers")
	require.Len(t, m.roleGauges(), 2, "the exporter has it all the same")
	m.Config.Quorum.ObserverMasterPort = 2191
	require.Equal(t, []string{"quorum_size 3", "synced_observers 0"}, names())
	q.ProposalSize.Observe(106)
	q.ProposalSize.Observe(48)
	set(&host.QuorumRole{Peer: "leading - broadcast", Size: 3, Leading: true, Learners: 4, SyncedFollowers: 2,
		NonVoting: 1, PendingSyncs: 5, LeaderUptime: 1500 * time.Millisecond, SyncedObservers: 1})
	require.Equal(t, []string{"quorum_size 3", "learners 4", "synced_followers 2", "synced_non_voting_followers 1",
		"pending_syncs 5",
		"leader_uptime 1500", "last_proposal_size 48", "min_proposal_size 48", "max_proposal_size 106",
		"synced_observers 1"}, names())
	set(nil)
	require.Empty(t, names())
}
