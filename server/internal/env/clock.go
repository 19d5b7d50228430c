package env

import (
	"time"

	"github.com/seed94657493/warren/internal/sched"
)

// clock gives the server its times.
type clock struct {
	rt    sched.Runtime
	start time.Duration // on the clock of Elapsed
	began time.Time     // the same moment on the wall clock
}

func newClock(rt sched.Runtime) *clock { return &clock{rt: rt, start: rt.Elapsed(), began: rt.Now()} }

// Now is a monotonic time in ns since the server began.
func (c *clock) Now() int64 { return int64(c.rt.Elapsed() - c.start) }

// Steady is the time as if the wall clock had not been set since the server began. Intervals are measured with it.
func (c *clock) Steady() time.Time { return c.began.Add(c.rt.Elapsed() - c.start) }

// In is the time on the wall clock when d has passed, as the deadline of a connection.
func (c *clock) In(d time.Duration) time.Time { return c.rt.Now().Add(d) }

// WallMs is the wall clock in ms since 1970, as it goes into txns.
func (c *clock) WallMs() int64 { return c.rt.Now().UnixMilli() }
