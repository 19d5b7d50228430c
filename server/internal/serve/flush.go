package serve

import "time"

// How the output of a connection reaches its socket. A goroutine that adds to it flushes it afterwards, without
// holding a lock. Flush writes as much as the socket takes at once. Only if that is not everything, a goroutine of the
// connection (drain) waits for the socket. So neither the applier nor another client ever waits for a slow reader, and
// usually no goroutine has to be woken.

// lingerTimeout is how long a connection that the server ends is still read, and the input dropped. Unread input would
// turn the close into a reset, which could destroy the last reply.
const lingerTimeout = time.Second

// Flush writes the waiting output, as far as the socket takes it now.
func (c *Conn) Flush() {
	c.mu.Lock()
	for {
		buf := c.mu.out.begin()
		if len(buf) == 0 {
			break
		}
		c.srv.Stats.Publish(&c.mu.stats)
		c.mu.Unlock()
		n, err := c.writeNow(buf)
		if err != nil {
			c.Abort()
			return
		}
		if n < len(buf) {
			c.stuck.Store(c.raw != nil && c.secure == nil)
			if !c.srv.Spawn("drain", func() { c.drain(buf[n:], buf) }) {
				c.Abort()
			}
			return
		}
		c.mu.Lock()
		c.written(buf)
	}
	c.sent()
	c.mu.Unlock()
}

// drain writes rest, the end of buf, and all output added meanwhile, as long as the client takes some of it within
// its timeout.
func (c *Conn) drain(rest, buf []byte) {
	for {
		for len(rest) > 0 {
			_ = c.nc.SetWriteDeadline(c.srv.Clock.In(c.writeTimeout()))
			n, err := c.nc.Write(c.portion(rest))
			rest = rest[n:]
			if err != nil && n == 0 {
				c.Abort()
				return
			}
		}
		_ = c.nc.SetWriteDeadline(time.Time{}) // an expired deadline would fail writeNow, too
		c.mu.Lock()
		c.written(buf)
		if buf = c.mu.out.begin(); len(buf) == 0 {
			c.stuck.Store(false)
			c.sent()
			c.mu.Unlock()
			return
		}
		rest = buf
		c.mu.Unlock()
	}
}

// written takes back a buffer after it was written. REQUIRES: Conn.mu.
func (c *Conn) written(buf []byte) {
	c.mu.out.written(buf, &c.srv.Undelivered)
	if len(c.mu.followed) > 0 {
		c.handedOn()
	}
	c.wakeReader()
	c.help()
}

// sent ends the connection, if it is to end, when nothing waits to be sent. REQUIRES: Conn.mu.
func (c *Conn) sent() {
	o := &c.mu.out
	if o.parting && c.mu.queue.Len() == 0 {
		o.closing = true
	}
	if o.ends() {
		c.finish()
	}
}

// pauses is output.pauses. REQUIRES: Conn.mu.
func (c *Conn) pauses() bool { return c.mu.out.pauses(&c.srv.Undelivered) }

// countUndelivered is output.count. REQUIRES: Conn.mu.
func (c *Conn) countUndelivered() bool { return c.mu.out.count(&c.srv.Undelivered) }

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
	c.forget()
	c.wakeReader()
	c.mu.Unlock()
	_ = c.nc.Close()
}

// die drops what waits to be sent, and lets nothing more be added. Abort must follow. REQUIRES: Conn.mu.
func (c *Conn) die() {
	c.mu.out.die(&c.srv.Undelivered)
	c.mu.followed = nil // their replies are not handed to a socket any more
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
