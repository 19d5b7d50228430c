package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/host/kept"
)

func TestTicksThatWereMissedAreMadeUpFor(t *testing.T) {
	now := time.Unix(1000, 0)
	p := pacer{now}
	for _, step := range []struct {
		after time.Duration
		ticks int
	}{
		{coreTick, 1}, {coreTick - time.Millisecond, 0}, {coreTick + time.Millisecond, 2}, {coreTick, 1},
		{7*coreTick + time.Millisecond, 7}, {coreTick - time.Millisecond, 1},
		{ticksMax * coreTick, ticksMax},
		{time.Hour, ticksMax}, {coreTick / 2, 0}, {coreTick / 2, 1}, // ticks beyond the limit are forgotten
	} {
		now = now.Add(step.after)
		require.Equal(t, step.ticks, p.due(now), "%v later", step.after)
	}
}

// A server in steady service wakes up less often. One that looks for a leader, or whose clients wait for one, takes
// each tick.
func TestTickEvery(t *testing.T) {
	h := leased(t, 1, 1, 2, 3)
	for _, tc := range []struct{ tick, every time.Duration }{
		{2 * time.Second, 50 * time.Millisecond}, {10 * time.Second, 50 * time.Millisecond},
		{time.Second, 25 * time.Millisecond}, {200 * time.Millisecond, coreTick}, {time.Millisecond, coreTick},
	} {
		h.Config.TickTime, h.role = tc.tick, &leading{}
		require.Equal(t, tc.every, h.tickEvery(), "tickTime %v", tc.tick)
	}
	h.Config.TickTime = 2 * time.Second
	h.keeping.now = &kept.Connections{}
	require.Equal(t, coreTick, h.tickEvery(), "clients wait")
	h.keeping.now = nil
	h.ReadOnly.Store(true)
	require.Equal(t, coreTick, h.tickEvery(), "it looks for a leader")
	h.ReadOnly.Store(false)
	h.role = nil
	require.Equal(t, coreTick, h.tickEvery())
}
