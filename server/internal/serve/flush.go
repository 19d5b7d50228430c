package serve

import "time"

// How the output of a connection reaches its socket. A goroutine that adds to it flushes it afterwards, without
// holding a lock. flush writes as much as the socket takes at once. Only if that is not everything, a goroutine of the
// connection (writeRest) waits for the socket. So neither the applier nor another client ever waits for a slow client,
// and usually no goroutine has to be woken.

// flush writes the waiting output, as far as the socket takes it now.
func (c *Conn) flush() {
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
			if !c.srv.Spawn("writer", func() { c.writeRest(buf[n:], buf) }) {
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

// writeRest writes rest, the end of buf, and all output added meanwhile, as long as the client takes some of it within
// its timeout.
func (c *Conn) writeRest(rest, buf []byte) {
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
	c.mu.out.written(buf, &c.srv.undelivered)
	c.handedOn()
	c.wakeReader()
	c.help()
}
