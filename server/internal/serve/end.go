package serve

import (
	"math"
	"time"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/stages"
)

// How connections end: at once (Abort), or as soon as what was added to the output is sent (Shut). The reader notices
// the end and cleans up. The functions for all connections serve the host: when a role ends, it closes the connections
// of clients, or holds those that may go on in the next role.

// lingerTimeout is how long a connection that the server ends is still read, and the input dropped. Unread input would
// turn the close into a reset, which could destroy the last reply.
const lingerTimeout = time.Second

// sent ends the connection, if it is to end, when nothing waits to be sent. REQUIRES: Conn.mu.
func (c *Conn) sent() {
	o := &c.mu.out
	if o.endsIdle && c.mu.queue.length() == 0 {
		o.closing = true
	}
	if o.ends() {
		c.finish()
	}
}

// finish ends the connection so that written output still arrives: it closes the write side now. The read side is
// closed when the reader has seen the client's end, or its deadline. REQUIRES: Conn.mu.
func (c *Conn) finish() {
	if c.mu.out.finished {
		return
	}
	c.mu.out.finished = true
	c.wakeReader()
	_ = c.nc.SetReadDeadline(c.srv.Clock.In(lingerTimeout))
	c.closeWrite()
}

// Abort closes the socket at once. The reader notices it and cleans up.
func (c *Conn) Abort() {
	c.mu.Lock()
	c.die()
	c.srv.InProcess.Add(-int64(c.mu.queue.forget()))
	c.wakeReader()
	c.mu.Unlock()
	_ = c.nc.Close()
}

// die drops what waits to be sent, and lets nothing more be added. Abort must follow. REQUIRES: Conn.mu.
func (c *Conn) die() {
	c.mu.out.die(&c.srv.undelivered)
	c.mu.followed = flow.FIFO[*stages.Operation]{} // their replies are not handed to a socket any more
}

// Supersede implements sessions.Conn.
func (c *Conn) Supersede() {
	c.superseded.Store(true)
	c.Abort()
}

// Shut ends the connection as soon as the output added so far is sent.
func (c *Conn) Shut() {
	c.mu.Lock()
	c.shut()
	c.mu.Unlock()
}

// shut is Shut. REQUIRES: Conn.mu.
func (c *Conn) shut() {
	c.mu.out.closing = true
	if c.mu.out.waiting() == 0 && c.mu.out.ends() {
		c.finish()
	}
}

// writeTimeout is how long a client may take nothing of its output.
func (c *Conn) writeTimeout() time.Duration {
	if s := c.Session.Load(); s != nil {
		return s.Timeout()
	}
	return c.srv.Config.SessionlessTimeout
}

// Idle reports whether no client is connected with a session.
func (s *Front) Idle() bool { return s.Conns.idle() }

// ShutAll ends every connection that has a session and is not held, as soon as the output added so far is sent. It
// returns how many connections it ends.
func (s *Front) ShutAll() (n int) {
	s.Conns.Each(func(c *Conn) {
		if c.Session.Load() == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.mu.out.held {
			n++
			c.shut()
		}
	})
	return n
}

// HoldAll lets the connections of the sessions that wanted accepts take no more requests, until Conn.Release, and
// returns them. Requests that were taken before are submitted when it returns.
func (s *Front) HoldAll(wanted func(*sessions.Session) bool) (held []flow.Held) {
	s.Conns.Each(func(c *Conn) {
		session := c.Session.Load()
		if session == nil || !wanted(session) || c.Superseded() {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.mu.out.open() {
			c.mu.out.held = true
			held = append(held, flow.Held{Client: c, Session: session})
		}
	})
	return held
}

// Release implements flow.Client.
func (c *Conn) Release(generation int64, goesOn bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A connection that has ended meanwhile may have lost a request that the former role had taken. So none of those
	// that wait behind it may be taken, and they are not, because they are of the former time of service.
	if goesOn && c.mu.out.open() {
		c.generation.Store(generation)
	}
	c.mu.out.held = false
	if !goesOn {
		c.shut()
	}
	c.wakeReader()
	c.help()
	return c.mu.out.open()
}

// AbortOver closes at once every connection that has a session and may not be answered any more, and returns how many.
// next is until when the others may be answered, ns on the server's clock.
func (s *Front) AbortOver() (ended int, next int64) {
	now := s.Clock.Now()
	next = math.MaxInt64
	s.Conns.Each(func(c *Conn) {
		session := c.Session.Load()
		if session == nil {
			return
		}
		if end := s.AnswersUntil(session.Timeout()); now <= end {
			next = min(next, end)
			return
		}
		ended++
		c.Abort()
	})
	return ended, next
}

// WaitForConns waits until every connection has ended, but no longer than timeout.
func (s *Front) WaitForConns(timeout time.Duration) {
	for end := s.Clock.Now() + int64(timeout); s.Conns.Len() > 0 && s.Clock.Now() < end; {
		sched.Sleep(s.Runtime, time.Millisecond)
	}
}
