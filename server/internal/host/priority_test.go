package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
