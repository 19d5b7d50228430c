package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// A server that the others do not name asks for a leader while they have none: they answer it, and it them. That
// ends, although the two sides disagree about which servers have a vote.
func TestServersThatOneListNames(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 3, Lists: true}).Tracing()
		require.Nil(t, s.Run())
		s.until(t, "an ensemble", func() bool { return s.united() != nil })
		s.written(t)
		spare := s.nodes[3]
		require.False(t, s.united() == spare)
		s.nodes[0].crash()
		s.nodes[1].crash()
		s.until(t, "the end of the quorum", func() bool {
			return s.nodes[2].status.State.String() == "LOOKING" && spare.status.State.String() == "LOOKING"
		})
		before, end := s.Stats.Notified, s.now+100_000 // a second
		s.until(t, "a second", func() bool { return s.now >= end })
		require.Less(t, s.Stats.Notified-before, 150,
			"seed %d: two servers repeat their votes every 100 ms at most", seed)
		s.nodes[0].start()
		s.nodes[1].start()
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// A leader commits a txn by the list of its process, and crashes before its followers have heard of that. When they
// deliver the txn every process may have been started anew with the next list. The check takes the list of the leader.
func TestCommitByAListThatNoProcessHas(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		for holders := 1; holders <= 2; holders++ {
			s := New(Options{Seed: seed, Calm: true, Voters: 3, Lists: true}).Tracing()
			require.Nil(t, s.Run())
			s.until(t, "an ensemble", func() bool { return s.united() != nil })
			s.written(t)
			s.until(t, "everybody", func() bool { return s.united() != nil })
			leader := s.united()
			for _, n := range s.nodes {
				n.disk.full = n == leader || n.id == 4 || holders == 1 && n.id != leader.id%3+1
				s.lists.read[n.id] = s.lists.list([]proto.ServerID{4})
			}
			count := len(s.order)
			txn := zab.Txn{Zxid: leader.core.NextZxid(), Payload: s.load.payload()}
			require.NoError(t, leader.propose(txn))
			s.broadcasts(leader, txn)
			leader.drain()
			if holders == 2 {
				s.until(t, "a delivery", func() bool { return len(s.order) > count })
				continue
			}
			s.until(t, "one copy", func() bool { return len(s.holders(count, txn)) == 1 })
			v := s.guard(func() { s.checkCommitted(s.node(leader.id%3+1), count, txn) })
			require.NotNil(t, v)
			require.Equal(t, "CommitSafety", v.Checker)
		}
	}
}
