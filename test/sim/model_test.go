package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/zab"
)

// The network that the simulator plays is TCP: what is written behind lost bytes never arrives, however often the
// connection is cut.
func TestLostBytesStayLost(t *testing.T) {
	again := 0
	for seed := uint64(1); seed <= 100; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 3})
		a, b := &end{n: s.nodes[0]}, &end{n: s.nodes[1]}
		a.peer, b.peer = b, a
		for range 5 {
			lost := [2]bool{a.silent, b.silent}
			s.net.cut(a)
			require.False(t, lost[0] && !a.silent || lost[1] && !b.silent, "seed %d: bytes arrive again", seed)
			if lost[0] != lost[1] {
				again++
			}
		}
	}
	require.NotZero(t, again)
}

// A leader whose log does not hold any more what it is to send from it closes the connection: NEWLEADER, which its
// core has asked for already, does not follow. Source: duty 9 of package zab.
func TestNothingFollowsAReplayThatFails(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 1)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		leader := s.united()
		observer := s.nodes[3]
		var link *end
		for _, e := range leader.ends {
			if e.peer != nil && e.peer.n == observer {
				link = e
			}
		}
		require.NotNil(t, link)
		leader.disk.logFrom = len(leader.disk.history)
		begun := len(s.Trace)
		require.Nil(t, s.guard(func() {
			m := zab.Message{Type: zab.Replay, To: observer.id, Link: link.id, Zxid: lastOf(leader.state)}
			s.net.send(leader, m)
			m.Type, m.Epoch = zab.NewLeader, leader.status.Epoch
			s.net.send(leader, m)
		}))
		require.Len(t, s.Trace, begun+1, "%v", s.Trace[begun:])
		require.Contains(t, s.Trace[begun], "cannot replay")
		s.until(t, "the observer has noticed", func() bool { return !observer.status.Serving })
		s.until(t, "everybody", func() bool { return s.united() != nil })
		require.Equal(t, leader, s.united(), "the others have lost nothing")
	}
}

// No server has promised an epoch before a quorum has counted for the first time: no leader has asked for a promise.
// So the fault that makes promises makes none, with which the ensemble would have to wait for an operator forever.
func TestNoPromiseBeforeAQuorumCounts(t *testing.T) {
	for voters := 3; voters <= 5; voters += 2 {
		s := New(Options{Seed: 1, Calm: true, Voters: voters})
		for counting := 0; counting <= voters; counting++ {
			for i, n := range s.nodes {
				n.disk.exists, n.disk.blank, n.disk.accepted = i < counting, i >= counting, 0
			}
			n := s.nodes[0]
			s.faults.promise(s, n)
			require.Equal(t, counting > voters/2, n.disk.accepted > 0, "%d of %d voters count", counting, voters)
		}
	}
}
