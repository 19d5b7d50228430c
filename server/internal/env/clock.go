package env

import (
	"time"

	"github.com/seed94657493/warren/internal/sched"
)

// clock tells the server the time.
type clock struct {
	rt    sched.Runtime
	start time.Duration // on the clock of Elapsed
	began time.Time     // the same moment on the wall clock
}

func newClock(rt sched.Runtime) *clock { return &clock{rt: rt, start: rt.Elapsed(), began: rt.Now()} }

// Now is the monotonic time in ns since the server began.
func (c *clock) Now() int64 { return int64(c.rt.Elapsed() - c.start) }

// Steady is the time by a clock that is never set after the server began. Intervals are measured with it.
func (c *clock) Steady() time.Time { return c.began.Add(c.rt.Elapsed() - c.start) }

// In is the wall-clock time after d, for the deadline of a connection.
func (c *clock) In(d time.Duration) time.Time { return c.rt.Now().Add(d) }

// WallMs is the wall clock in ms since 1970, as txns carry it.
func (c *clock) WallMs() int64 { return c.rt.Now().UnixMilli() }
