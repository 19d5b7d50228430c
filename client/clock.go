package client

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// clock is the time since it began. Unlike Go's monotonic clock it does not stand still while the machine is
// suspended: servers elsewhere go on, and expire the session. Setting the wall clock changes nothing. But when the
// wall clock and the monotonic clock have moved apart, one of the two has happened, and the kernel is asked.
type clock struct {
	began  time.Time
	uptime time.Duration // of the machine, when the clock began; 0 if it is not known
	apart  atomic.Int64  // how far the wall clock was ahead when the kernel was asked last, ns
	asleep atomic.Int64  // for how long the machine was suspended since the clock began, ns
}

// apartMax is how far the clocks move apart before the kernel is asked.
const apartMax = 100 * time.Millisecond

// start begins the clock. REQUIRES: nothing else uses it yet.
func (c *clock) start(began time.Time) { c.began, c.uptime = began, uptime() }

// at is the time of the clock at now.
func (c *clock) at(now time.Time) time.Duration {
	running, wall := now.Sub(c.began), now.Round(0).Sub(c.began.Round(0))
	return running + c.suspended(running, wall, uptime)
}

// suspended returns for how long the machine was suspended. running and wall are the time since the clock began, by
// the monotonic clock and by the wall clock, and ask returns the uptime.
func (c *clock) suspended(running, wall time.Duration, ask func() time.Duration) time.Duration {
	apart := wall - running
	if d := apart - time.Duration(c.apart.Load()); c.uptime != 0 && (d > apartMax || d < -apartMax) {
		c.asleep.Store(max(c.asleep.Load(), int64(ask()-c.uptime-running)))
		c.apart.Store(int64(apart))
	}
	return time.Duration(c.asleep.Load())
}

// uptime returns how long ago the machine was started, suspensions included; 0 if it cannot be known: only Linux
// tells.
func uptime() time.Duration {
	text, err := os.ReadFile("/proc/uptime")
	first, _, _ := strings.Cut(string(text), " ")
	seconds, wrong := strconv.ParseFloat(first, 64)
	if err != nil || wrong != nil {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
