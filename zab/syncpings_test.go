package zab

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// A voter that stands still while a quorum without it answers syncs is sent so many pings and no more. When it goes
// on, it is asked about the newest sync at once, and counts again.
func TestSyncsAskAVoterThatStandsStillNoMore(t *testing.T) {
	c := leading(t, false)
	unanswered := map[LinkID]int{}
	take := func() []uint64 {
		out := c.Take()
		for _, m := range out.Send {
			if m.Type == Ping {
				unanswered[m.Link]++
			}
		}
		return out.Synced
	}
	answer := func(link LinkID) {
		unanswered[link]--
		c.Step(Message{Type: Ping, From: proto.ServerID(link), Link: link})
	}
	token := uint64(0)
	sync := func() {
		token++
		require.NoError(t, c.Sync(0, token))
		require.Empty(t, take())
	}
	for range 3 * syncPingsMax {
		sync()
		answer(1)
		require.Equal(t, []uint64{token}, take())
	}
	require.Equal(t, syncPingsMax, unanswered[2])

	sync()
	c.LinkDown(1)
	for range syncPingsMax {
		require.Empty(t, take(), "what it answers is older than the sync")
		answer(2)
	}
	require.Empty(t, take())
	answer(2)
	require.Equal(t, []uint64{token}, take())
	require.Zero(t, unanswered[2])
}
