package client

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

// In whatever order requests are answered, the contact is never newer than the newest answered request, nor much
// older.
func TestContactIsNeverTooNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("SEED=%d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		began := time.Now()
		var c contact
		c.start(began)
		var calls, pings []time.Duration // when those without an answer were written
		newest := time.Duration(0)
		for range 10_000 {
			time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
			switch r.IntN(4) {
			case 0, 1:
				n := r.IntN(4)
				for range n {
					calls = append(calls, time.Since(began))
				}
				c.writing(&c.calls, n, time.Now())
				if r.IntN(3) == 0 {
					pings = append(pings, time.Since(began))
					c.writing(&c.pings, 1, time.Now())
				}
			case 2:
				for range r.IntN(6) {
					if len(calls) > 0 {
						c.hears(&c.calls)
						newest = max(newest, calls[0])
						calls = calls[1:]
					}
				}
			case 3:
				if len(pings) > 0 {
					newest = max(newest, pings[0])
					pings = pings[1:]
				}
				c.hears(&c.pings) // even if none was sent
			}
			require.LessOrEqual(t, time.Duration(c.latest.Load()), newest)
			require.Equal(t, time.Since(began)-time.Duration(c.latest.Load()), c.silence())
		}
		for range calls {
			c.hears(&c.calls)
		}
		for range pings {
			c.hears(&c.pings)
		}
		now := time.Now()
		c.writing(&c.calls, 1, now)
		c.hears(&c.calls)
		require.Equal(t, now.Sub(began), time.Duration(c.latest.Load()),
			"when everything is answered the next is believed at once")
	})
}

// A suspension counts as soon as the wall clock shows it. Setting the wall clock does not, in either direction, nor
// does it hide a suspension that comes later. The kernel is asked only when the clocks have moved apart.
func TestSuspensionCounts(t *testing.T) {
	const before = 7 * time.Hour // the machine had been up
	running, wall, asleep, asked := time.Duration(0), time.Duration(0), time.Duration(0), 0
	c := clock{uptime: before}
	suspended := func() time.Duration {
		return c.suspended(running, wall, func() time.Duration { asked++; return before + running + asleep })
	}
	running, wall = running+time.Hour, wall+time.Hour
	require.Equal(t, time.Duration(0), suspended())
	require.Equal(t, 0, asked)
	wall, asleep = wall+5*time.Minute, asleep+5*time.Minute
	require.Equal(t, 5*time.Minute, suspended())
	require.Equal(t, 5*time.Minute, suspended())
	require.Equal(t, 1, asked)
	for _, step := range []time.Duration{time.Hour, -3 * time.Hour, 200 * time.Millisecond} {
		wall += step
		require.Equal(t, 5*time.Minute, suspended(), "the wall clock was set by %v", step)
	}
	wall, asleep = wall+time.Minute, asleep+time.Minute
	require.Equal(t, 6*time.Minute, suspended())

	unknown := clock{}
	require.Equal(t, time.Duration(0), unknown.suspended(0, time.Hour, uptime))
	var real clock
	real.start(time.Now())
	require.LessOrEqual(t, real.at(time.Now()), time.Minute)
}
