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
		type request struct {
			xid  int32 // 0 for a ping
			sent time.Duration
		}
		var calls, pings []request // without an answer
		xid, newest := int32(0), time.Duration(0)
		for range 10_000 {
			time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
			switch r.IntN(4) {
			case 0, 1:
				now, last := time.Since(began), int32(0)
				for range r.IntN(4) {
					xid++
					last = xid
					calls = append(calls, request{xid, now})
				}
				if r.IntN(3) == 0 {
					c.pings++
					pings = append(pings, request{0, now})
				}
				c.writing(last, time.Now())
			case 2:
				for range r.IntN(6) {
					if len(calls) > 0 {
						c.answered(calls[0].xid)
						newest = max(newest, calls[0].sent)
						calls = calls[1:]
					}
				}
			case 3:
				if len(pings) > 0 {
					newest = max(newest, pings[0].sent)
					pings = pings[1:]
				}
				c.ponged() // even if none was sent
			}
			require.LessOrEqual(t, time.Duration(c.latest.Load()), newest)
			require.Equal(t, time.Since(began)-time.Duration(c.latest.Load()), c.silence())
		}
		for _, call := range calls {
			c.answered(call.xid)
		}
		for range pings {
			c.ponged()
		}
		now := time.Now()
		c.writing(xid+1, now)
		c.answered(xid + 1)
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
