package host

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// The leadership does not move to and fro: each hand-over to the same server doubles the wait, and an hour without one
// forgets them all.
func TestPriorityWaits(t *testing.T) {
	const pause = 30 * time.Second
	now := time.Unix(1_800_000_000, 0)
	var y yields
	require.Equal(t, pause, y.wait(pause, now))
	for i := range 10 {
		y = y.again(now)
		require.Equal(t, pause<<min(i+1, priorityDoublings), y.wait(pause, now))
	}
	require.Equal(t, pause, y.wait(pause, now.Add(priorityMemory+1)))
	require.Equal(t, 1, y.again(now.Add(priorityMemory+1)).n)
}

// The priority is found among the sessions that the answer to a PING reports, and is not taken for one of the other
// entries.
func TestPriorityInPing(t *testing.T) {
	touched := proto.AppendInt32(proto.AppendInt64(nil, 0x100000000000007), 4000)
	priority := proto.AppendInt32(proto.AppendInt64(nil, 5), priorityMark)
	for _, c := range []struct {
		data   []byte
		want   int64
		noRoom bool
	}{
		{nil, 0, false}, {touched, 0, false}, {priority, 5, false}, {slices.Concat(touched, priority), 5, false},
		{slices.Concat(touched, noRoom[:], priority), 5, true}, {priority[:11], 0, false},
	} {
		require.Equal(t, c.want, saysPriority(c.data))
		require.Equal(t, c.noRoom, saysNoRoom(c.data))
		require.Zero(t, saysArrived(c.data))
	}
}

func FuzzPriorityInPing(f *testing.F) {
	f.Add(proto.AppendInt32(proto.AppendInt64(nil, 5), priorityMark))
	f.Fuzz(func(t *testing.T, data []byte) { _ = saysPriority(data) })
}
