package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A suspension counts as soon as the wall clock shows it. Setting the wall clock does not, in either direction, nor
// does it hide a suspension that comes later. The kernel is asked only when the clocks have moved apart.
func TestSuspensionCounts(t *testing.T) {
	const before = 7 * time.Hour // suspended before the process began
	wall, running, asleep, asked := time.Unix(1_800_000_000, 0), time.Duration(0), before, 0
	s := newSuspended(wall, asleep)
	at := func() time.Duration {
		return s.at(wall.UnixNano(), running, func() time.Duration { asked++; return asleep })
	}
	run := func(d time.Duration) { wall, running = wall.Add(d), running+d }
	require.Zero(t, at())
	run(time.Hour)
	require.Zero(t, at())
	require.Zero(t, asked)

	wall, asleep = wall.Add(5*time.Minute), asleep+5*time.Minute
	require.Equal(t, 5*time.Minute, at())
	run(time.Second)
	require.Equal(t, 5*time.Minute, at())
	require.Equal(t, 1, asked)

	for _, step := range []time.Duration{time.Hour, -3 * time.Hour, 200 * time.Millisecond} {
		wall = wall.Add(step)
		require.Equal(t, 5*time.Minute, at(), "the wall clock was set by %v", step)
	}
	require.Equal(t, 4, asked)
	wall, asleep = wall.Add(time.Minute), asleep+time.Minute
	require.Equal(t, 6*time.Minute, at())
}

// What the kernel says can be read, and the time goes on.
func TestElapsedGoesOn(t *testing.T) {
	require.GreaterOrEqual(t, suspended(), -time.Millisecond)
	last := OS().Elapsed()
	for range 1000 {
		now := OS().Elapsed()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = OS().Elapsed() }))
}
