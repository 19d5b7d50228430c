package serve

import (
	"time"
)

// mayAsk reports whether the next request may be handled now, according to warren.maxRequestsPerSecond. If not,
// waitDue waits until it may. The reader calls it.
func (c *Conn) mayAsk() bool {
	limit := c.srv.Config.MaxRequestsPerSecond
	if limit <= 0 || c.address == nil {
		return true
	}
	now := c.srv.Clock.Now()
	if c.credit == 0 {
		c.credit, c.due = c.address.rate.Reserve(now, limit)
	}
	return now >= c.due
}

// asked notes that a request that mayAsk has allowed was handled.
func (c *Conn) asked() {
	if c.credit > 0 {
		c.credit--
	}
}

// waitDue waits until mayAsk allows the next request, and returns false when the server stops.
func (c *Conn) waitDue() bool {
	if c.credit == 0 {
		return true
	}
	wait := time.Duration(c.due - c.srv.Clock.Now())
	if wait <= 0 {
		return true
	}
	c.srv.Metrics.RateWaits.Inc()
	return !c.srv.Stopping.WaitFor(wait)
}
