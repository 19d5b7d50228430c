package server

import (
	"sync"
	"time"
)

// requestRate is how far the connections of one address have used up what warren.maxRequestsPerSecond lets them send together. Above
// it their sockets are not read: nothing is refused, the client is slower. What was not used is kept for rateBurst.
type requestRate struct {
	mu   sync.Mutex
	next int64 // when the next request that nobody has reserved may be handled, ns on the server's clock
}

const (
	// rateShares is in how many parts a second's requests are reserved: a connection that has to wait is woken once for each.
	rateShares = 100
	// rateBurst is how long an address keeps what it has not sent.
	rateBurst = 100 * time.Millisecond
)

// reserve reserves a share of perSecond requests: n of them may be handled from due on.
func (r *requestRate) reserve(now int64, perSecond int) (n int, due int64) {
	n = max(1, perSecond/rateShares)
	r.mu.Lock()
	defer r.mu.Unlock()
	due = max(r.next, now-int64(rateBurst))
	r.next = due + int64(n)*int64(time.Second)/int64(perSecond)
	return n, due
}

// mayAsk reports whether the next request may be handled now; if not, waitDue waits until it may. It is called by the reader.
func (c *conn) mayAsk() bool {
	limit := c.srv.cfg.MaxRequestsPerSecond
	if limit <= 0 || c.address == nil {
		return true
	}
	now := c.srv.clock.now()
	if c.credit == 0 {
		c.credit, c.due = c.address.rate.reserve(now, limit)
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
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.srv.stopping:
		return false
	}
}
