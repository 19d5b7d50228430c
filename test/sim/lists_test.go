package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
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
