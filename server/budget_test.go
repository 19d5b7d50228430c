package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

func TestWeightOfWrites(t *testing.T) {
	for _, c := range []struct {
		op   proto.OpCode
		n    int
		want int32
	}{
		{proto.OpSetData, 0, 0}, {proto.OpSetData, smallWrite, 0}, {proto.OpSetData, smallWrite + 1, 1}, {proto.OpSetData, 100_000, 100_000 - smallWrite},
		{proto.OpMulti, smallWrite / multiWeight, 0}, {proto.OpMulti, 10_000, 10_000*multiWeight - smallWrite}, {proto.OpMulti, 1 << 20, writeBudgetMax},
		{proto.OpSetData, 100 << 20, writeBudgetMax},
	} {
		require.Equal(t, c.want, weightOf(c.op, make([]byte, c.n)), "%v of %d bytes", c.op, c.n)
	}
}

// waiter is a connection that only waits.
func waiter() *conn { return &conn{resume: make(chan struct{}, 1)} }

// woken reports whether c was told to try again.
func woken(c *conn) bool {
	select {
	case <-c.resume:
		return true
	default:
		return false
	}
}

func TestLargeWritesGetRoomInTheirOrder(t *testing.T) {
	var b writeBudget
	first, second, third, small := waiter(), waiter(), waiter(), waiter()
	require.True(t, b.take(first, writeBudgetMax))
	require.False(t, b.take(second, writeBudgetMax/2))
	require.False(t, b.take(second, writeBudgetMax/2), "it waits once")
	require.False(t, b.take(third, 1), "there is room for nobody")
	require.True(t, b.take(small, 0), "a small write never waits")
	require.False(t, b.ready(second))

	b.release(writeBudgetMax)
	require.True(t, woken(second))
	require.False(t, woken(third))
	require.False(t, b.take(third, 1), "nobody overtakes")
	require.True(t, b.take(second, writeBudgetMax/2))
	require.True(t, woken(third))
	require.True(t, b.ready(third))
	require.True(t, b.take(third, 1))

	require.False(t, b.take(first, writeBudgetMax))
	require.False(t, b.take(second, 1))
	b.leave(first)
	require.True(t, woken(second), "who goes lets the next try")
	require.True(t, b.ready(first), "who has left may ask again")
	require.True(t, b.take(second, 1))
	b.release(writeBudgetMax/2 + 2)
	require.Zero(t, b.mu.used)
	require.Empty(t, b.mu.waiting)
}

// Writes of the largest size, from many clients at once, all take effect in the order of their clients, and give back what they took.
func TestLargeWritesOfManyClients(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	var calls []*wire.Call
	for i := range 8 {
		c := dialWire(t, s, wire.Options{})
		path := "/" + string(rune('a'+i))
		_, err := c.Create(path, nil, proto.ModePersistent)
		require.NoError(t, err)
		for version := range int32(6) {
			calls = append(calls, c.Send(wire.SetData(path, make([]byte, 1_000_000), version)))
		}
	}
	for _, call := range calls {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err())
	}
	eventually(t, func() bool {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		return s.budget.mu.used == 0 && len(s.budget.mu.waiting) == 0
	}, "nothing is in the pipeline")
}
