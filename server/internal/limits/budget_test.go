package limits

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func TestWeightOfWrites(t *testing.T) {
	for _, c := range []struct {
		op   proto.OpCode
		n    int
		want int32
	}{
		{proto.OpSetData, 0, 0},
		{proto.OpSetData, SmallWrite, 0},
		{proto.OpSetData, SmallWrite + 1, 1},
		{proto.OpSetData, 100_000, 100_000 - SmallWrite},
		{proto.OpMulti, SmallWrite / multiWeight, 0},
		{proto.OpMulti, 10_000, 10_000*multiWeight - SmallWrite},
		{proto.OpMulti, 1 << 20, writeBudgetMax},
		{proto.OpSetData, 100 << 20, writeBudgetMax},
	} {
		require.Equal(t, c.want, Weight(c.op, make([]byte, c.n), 0), "%v of %d bytes", c.op, c.n)
	}
}

// waiter is a connection that only waits.
type waiter struct{ nudged bool }

func (w *waiter) Nudge() { w.nudged = true }

// woken reports whether w was told to look again.
func woken(w *waiter) bool {
	was := w.nudged
	w.nudged = false
	return was
}

func TestLargeWritesGetRoomInTheirOrder(t *testing.T) {
	var b WriteBudget
	first, second, third, small := new(waiter), new(waiter), new(waiter), new(waiter)
	require.True(t, b.Take(first, writeBudgetMax))
	require.False(t, b.Take(second, writeBudgetMax/2))
	require.False(t, b.Take(second, writeBudgetMax/2), "it waits once")
	require.False(t, b.Take(third, 1), "there is room for nobody")
	require.True(t, b.Take(small, 0), "a small write never waits")
	require.False(t, b.Ready(second))

	b.Release(writeBudgetMax)
	require.True(t, woken(second))
	require.False(t, woken(third))
	require.False(t, b.Take(third, 1), "nobody overtakes")
	require.True(t, b.Take(second, writeBudgetMax/2))
	require.True(t, woken(third))
	require.True(t, b.Ready(third))
	require.True(t, b.Take(third, 1))

	require.False(t, b.Take(first, writeBudgetMax))
	require.False(t, b.Take(second, 1))
	b.Leave(first)
	require.True(t, woken(second), "who goes lets the next try")
	require.True(t, b.Ready(first), "who has left may ask again")
	require.True(t, b.Take(second, 1))
	b.Release(writeBudgetMax/2 + 2)
	require.Zero(t, b.mu.used+len(b.mu.waiting))
}
