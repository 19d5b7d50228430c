package serve

// Reads behind a write. The applier runs the reads that a client has sent behind a write as soon as the write is
// applied, because that costs least. But the applier holds the write lock, and the replies wait in memory. So it
// runs few reads and leaves the rest to a goroutine, catchUp. That goroutine holds the read lock for a moment at a
// time, and rests while the client takes no replies. If the session's next write is applied before catchUp has
// finished, the reads before that write are run first. Conn.write makes sure that these are few.

// Shares of the reads that are run under one hold of a lock, in bytes of replies.
const (
	// appliedShare is for the applier, for one connection after a write.
	appliedShare = 64 << 10
	// appliedMost is for the applier, for all connections under one hold of the lock. The last read may exceed it.
	appliedMost = 256 << 10
	// caughtUpShare is for catchUp.
	caughtUpShare = 256 << 10
	// forcedShare is for reads before writes, until the applier lets readers in between.
	forcedShare = 1 << 20
	// largeReply is the size of a reply from which on no read of the connection may wait in front of a write.
	largeReply = 64 << 10
)

// runQueued runs the reads in the queue before the next write, until the replies are share bytes long, and reports
// whether there are more. A share below 0 means no limit, and includes expensive reads. REQUIRES: Conn.mu, Store.Mu.
func (c *Conn) runQueued(share int) (more bool) {
	q := &c.mu.queue
	start, done, now := c.mu.out.waiting(), 0, int64(0)
	for q.length() > 0 {
		e, body := q.front()
		if e.kind == queuedWrite {
			break
		}
		if c.mu.out.open() {
			if share >= 0 && c.mu.out.waiting()-start >= share {
				more = true
				break
			}
			if e.kind == queuedRead {
				if now == 0 && c.srv.Stages != nil {
					now = c.srv.Clock.Now()
				}
				one := request{e.op, e.xid, body}
				if share >= 0 && (c.srv.lists(&one) || share <= appliedShare && expensive(e.op)) {
					more = true
					break
				}
				before := c.mu.out.waiting()
				c.runRead(&one, e.at, now)
				if c.mu.out.waiting()-before > largeReply {
					q.strict = true
				}
			} else {
				c.mu.out.buf = append(c.mu.out.buf, body...)
				c.mu.out.closing = e.kind == queuedEnd
				c.mu.stats.Sent++
			}
		}
		done += q.popRead()
		if share == caughtUpShare && expensive(e.op) {
			more = q.length() > 0
			break
		}
	}
	c.srv.InProcess.Add(-int64(done))
	return more
}

// help starts catchUp if there is work for it. REQUIRES: Conn.mu.
func (c *Conn) help() {
	if !c.mu.queue.left.Load() || c.mu.queue.helped || c.mu.out.dead {
		return
	}
	c.mu.queue.helped = c.srv.Spawn("catch up", c.catchUp)
}

// catchUp runs the reads that the applier has left, as far as the client takes the replies. When the client has
// taken more, it is started again.
func (c *Conn) catchUp() {
	for more := true; more; c.flush() {
		listing := false
		c.srv.turns.Take()
		c.srv.Store.Long.Lock()
		c.srv.Store.Mu.RLock()
		c.mu.Lock()
		switch {
		case !c.mu.queue.left.Load(), c.pauses() && c.mu.out.open():
			more, c.mu.queue.helped = false, false
		case !c.runQueued(caughtUpShare):
			c.mu.queue.left.Store(false)
		default:
			e, body := c.mu.queue.front()
			listing = e.kind == queuedRead && c.srv.lists(&request{e.op, e.xid, body})
		}
		lost := !c.countUndelivered()
		c.wakeReader()
		c.mu.Unlock()
		c.srv.Store.Mu.RUnlock()
		c.srv.Store.Long.Unlock()
		c.srv.turns.Pass()
		if listing && !lost {
			lost = !c.catchUpListing()
		}
		if lost {
			c.Abort()
		}
	}
}
