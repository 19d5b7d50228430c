package server

import "time"

// clock gives the server its two times.
type clock struct{ start time.Time }

func newClock() *clock { return &clock{start: time.Now()} }

// now is a monotonic time in ns since the server began.
func (c *clock) now() int64 { return int64(time.Since(c.start)) }

// wallMs is the wall clock in ms since 1970, as it goes into txns.
func (c *clock) wallMs() int64 { return time.Now().UnixMilli() }
