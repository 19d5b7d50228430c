package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// changing is calm with servers 1 to 3 as voters and others that may join.
func changing(t *testing.T, seed uint64) *Sim {
	t.Helper()
	s := New(Options{Seed: seed, Calm: true, Voters: 3, Reconfig: true}).Tracing()
	require.Nil(t, s.Run())
	s.until(t, "an ensemble", func() bool { return s.united() != nil })
	s.written(t)
	s.until(t, "everybody", func() bool { return s.united() != nil })
	return s
}

// changed has a configuration committed, and waits until all servers have it.
func (s *Sim) changed(t *testing.T, voters, observers []proto.ServerID) {
	t.Helper()
	leader := s.united()
	e := ensemble(leader.core.NextZxid(), voters, observers, false)
	require.True(t, leader.core.Ready(e), "%s", e.Text)
	require.True(t, s.reconfigure(leader, e))
	s.until(t, "the change", func() bool {
		if s.united() == nil {
			return false
		}
		for _, n := range s.nodes {
			if active, _ := n.core.Ensembles(); active.Version != e.Version {
				return false
			}
		}
		return true
	})
	require.True(t, e.Votes(s.united().id))
	s.written(t)
	s.until(t, "everybody", func() bool { return s.united() != nil })
	require.Nil(t, s.guard(s.checkAcked))
}

// An ensemble grows from three to four, shrinks to one, and every first server is replaced; one becomes an observer,
// and a voter again.
func TestEnsembleGrowsAndShrinks(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		s := changing(t, seed)
		s.changed(t, []proto.ServerID{1, 2, 3, 4}, nil)
		s.changed(t, []proto.ServerID{2, 3, 4}, nil)
		s.changed(t, []proto.ServerID{2, 4}, []proto.ServerID{3})
		s.changed(t, []proto.ServerID{2, 3, 4}, []proto.ServerID{1})
		s.changed(t, []proto.ServerID{4}, []proto.ServerID{1})
	}
}

// A leader that is removed is succeeded at once, by a server that has the change: the client that asked for it is
// answered, and no tick passes that an election would need. If the one that it has named dies, there is an election.
func TestLeaderIsRemoved(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := changing(t, seed)
		old, acked, begin := s.united(), s.Stats.Acked, s.now
		var rest []proto.ServerID
		for id := proto.ServerID(1); id <= 4; id++ {
			if id != old.id {
				rest = append(rest, id)
			}
		}
		require.True(t, s.reconfigure(old, ensemble(old.core.NextZxid(), rest, nil, false)))
		s.until(t, "the end of its leadership", func() bool { return old.status.State != zab.Leading })
		require.Equal(t, acked+1, s.Stats.Acked)
		if seed%2 == 0 {
			s.written(t)
			require.Less(t, s.now-begin, int64(5000), "seed %d: 5000 units are 50 ms; a tick is 1000", seed)
			continue
		}
		s.node(rest[len(rest)-1]).crash() // the largest id is named
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// All servers lose power between the proposal of a change and the news of its commit: no server goes on without what
// was acknowledged, and the change is either in force everywhere or nowhere.
func TestAllDieDuringChange(t *testing.T) {
	kept := 0
	for seed := uint64(1); seed <= 40; seed++ {
		s := changing(t, seed)
		leader := s.united()
		e := ensemble(leader.core.NextZxid(), []proto.ServerID{3, 4}, nil, false)
		require.True(t, s.reconfigure(leader, e))
		end := s.now + int64(seed-1)*5
		s.until(t, "the moment", func() bool { return s.now >= end })
		for _, n := range s.nodes {
			n.crash()
		}
		for _, n := range s.nodes {
			n.start()
		}
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		require.Nil(t, s.guard(s.checkAcked))
		if active, _ := s.united().core.Ensembles(); active.Version == e.Version {
			kept++
		}
	}
	require.NotZero(t, kept)
	t.Logf("%d of 40 changes were kept", kept)
	require.Less(t, kept, 40)
}

// An ensemble shrinks to a server that hands on no identity, as ZooKeeper does, and that one is replaced by a server
// which has joined under it. This server draws an identity, and those that were members before, and have followed all
// the time, are no strangers to it.
func TestIdentityIsLostWithAPlainServer(t *testing.T) {
	drawn := 0
	for seed := uint64(1); seed <= 10; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 3, Reconfig: true}).Tracing()
		plain, second, joins := s.node(1), s.node(2), s.node(4)
		plain.plain = true
		require.Nil(t, s.Run())
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		first := second.disk.lineage
		s.changed(t, []proto.ServerID{1}, nil)
		joins.crash()
		joins.wipe()
		joins.start()
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.changed(t, []proto.ServerID{4}, nil)
		s.changed(t, []proto.ServerID{2, 3, 4}, nil)
		if l := second.disk.lineage; first.Final && l.Final && l.Ensemble != first.Ensemble {
			drawn++
		}
		require.Equal(t, joins.disk.lineage.Ensemble, second.disk.lineage.Ensemble, "seed %d", seed)
	}
	require.NotZero(t, drawn, "no identity was drawn twice, so nothing was tried")
}

// Servers that were removed may lose their disks as soon as a later txn was acknowledged, whatever crashes: by then a
// quorum of the members knows durably that the change is committed. At once is too early. All members may forget
// the commit in a crash, and then they ask a quorum of the former members, too.
func TestRemovedServersAreAskedUntilALaterTxn(t *testing.T) {
	early := 0
	for seed := uint64(1); seed <= 20; seed++ {
		for _, later := range []bool{false, true} {
			s := changing(t, seed)
			leader, acked := s.united(), s.Stats.Acked
			e := ensemble(leader.core.NextZxid(), []proto.ServerID{leader.id, 4}, nil, false)
			require.True(t, s.reconfigure(leader, e))
			s.until(t, "the change", func() bool { return s.Stats.Acked > acked })
			if later {
				s.written(t)
			}
			for _, n := range s.nodes {
				n.crash()
			}
			for _, n := range s.nodes {
				if !names(e, n.id) {
					require.Equal(t, later, s.outsider(n))
					n.forget()
					n.file = joining(e, n.id)
				}
				n.start()
			}
			end := s.now + 500_000
			s.until(t, "five seconds, or an ensemble", func() bool { return s.now >= end || s.united() != nil })
			if later {
				require.NotNil(t, s.united(), "seed %d: %s", seed, s.standing())
			} else if s.united() == nil {
				early++
			}
		}
	}
	require.NotZero(t, early, "it was never too early")
	t.Logf("too early in %d of 20 runs", early)
}
