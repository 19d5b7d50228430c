package server

import (
	"time"
)

// mayAsk reports whether the next request may be handled now, according to warren.maxRequestsPerSecond. If not,
// waitDue waits until it may. The reader calls it.
func (c *conn) mayAsk() bool {
	limit := c.srv.cfg.MaxRequestsPerSecond
	if limit <= 0 || c.address == nil {
		return true
	}
	now := c.srv.clock.now()
	if c.credit == 0 {
		c.credit, c.due = c.address.rate.Reserve(now, limit)
	}
	return now >= c.due
}

// asked notes that a request that mayAsk has allowed was handled.
func (c *conn) asked() {
	if c.credit > 0 {
		c.credit--
	}
}

// waitDue waits until mayAsk allows the next request, and returns false when the server stops.
func (c *conn) waitDue() bool {
	if c.credit == 0 {
		return true
	}
	wait := time.Duration(c.due - c.srv.clock.now())
	if wait <= 0 {
		return true
	}
	c.srv.metrics.rateWaits.Inc()
	return !c.srv.stopping.WaitFor(wait)
}
