package serve

import (
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
)

// A busy connection works only in its turn: see limits.Turns. A connection is busy if, since its socket was last
// empty, it has had busyAfter requests, busyBytes, a turn's time, a dear request, or too little room. A turn ends
// after one read of the socket, a share of reads, a dear request, or turnTime. For a frame larger than the usual
// buffer, the read of the socket is part of the turn.

const (
	// busyAfter is how many requests in a row make a connection busy. A client with one request in flight reaches
	// it seldom, even if its next request has always arrived when the reply is sent.
	busyAfter = 256
	// busyBytes is how many bytes make a connection busy.
	busyBytes = 256 << 10
	// turnTime is how long a connection may work before others get their turn. The last requests may exceed it.
	turnTime = 500 * time.Microsecond
	// turnRequests is how many requests are handled between two checks of the time.
	turnRequests = 16
)

// takeTurn waits for a turn if the connection is busy and has none. A connection that has its turn waits for
// nothing but locks. The reader calls it, without a lock.
func (c *Conn) takeTurn() {
	if c.busy && !c.turn {
		c.srv.Turns.Take()
		c.turn = true
	}
	c.shareBegan = c.srv.Clock.Now()
}

// passTurn ends the connection's turn, if it has one. The reader calls it.
func (c *Conn) passTurn() {
	if c.turn {
		c.turn = false
		c.srv.Turns.Pass()
	}
}

// worked counts a request, and reports whether other connections get their turn before the next one. The reader
// calls it.
func (c *Conn) worked() (enough bool) {
	c.inARow++
	c.busy = c.busy || c.inARow >= busyAfter
	if c.inARow%turnRequests != 0 || c.srv.Clock.Now()-c.shareBegan < int64(turnTime) {
		return false
	}
	c.busy = true
	return true
}

// idle notes that the socket was empty. The reader calls it.
func (c *Conn) idle() { c.busy, c.inARow, c.unbroken = false, 0, 0 }

// workOn lets other connections have their turn, and then goes on. The reader calls it. REQUIRES: no lock.
func (c *Conn) workOn() {
	c.busy = true
	c.passTurn()
	c.takeTurn()
}

// Throttled reports whether no further request is taken from a socket, because too many requests are in the
// pipeline, or too many lines wait for the audit log. Source: server-semantics 6.3.
func (s *Front) Throttled() bool {
	limit := s.Config.RequestThrottle.MaxRequests
	return limit > 0 && int(s.InProcess.Load()) >= limit || s.Security.Audit.Full()
}

// waitThrottle waits until requests are taken again. It returns false when the server stops.
func (s *Front) waitThrottle() bool {
	if !s.Throttled() {
		return true
	}
	s.Metrics.ThrottleWaits.Inc()
	began := s.Clock.Now()
	defer func() { s.Metrics.ThrottleTime.Observe(figures.Ms(s.Clock.Now() - began)) }()
	for s.Throttled() {
		if s.Stopping.WaitFor(max(s.Config.RequestThrottle.StallTime/10, time.Millisecond)) {
			return false
		}
	}
	return true
}

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

// asked counts a request that mayAsk has allowed.
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
