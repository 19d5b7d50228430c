package serve

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

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
	// CaughtUpShare is for catchUp.
	CaughtUpShare = 256 << 10
	// forcedShare is for reads before writes, until the applier lets readers in between.
	forcedShare = 1 << 20
	// largeReply is the size of a reply from which on no read of the connection may wait in front of a write.
	largeReply = 64 << 10
)

// dear reports whether a small request of this kind may take very long, however short its reply is.
func dear(op proto.OpCode) bool {
	switch op {
	case proto.OpGetEphemerals, proto.OpGetAllChildrenNumber, proto.OpMultiRead,
		proto.OpSetWatches, proto.OpSetWatches2:
		return true
	}
	return false
}

// runQueued runs the reads in the queue before the next write, until the replies are share bytes long, and reports
// whether there are more. A share below 0 means no limit, and includes dear reads. REQUIRES: Conn.mu, Store.Mu.
func (c *Conn) runQueued(share int) (more bool) {
	q := &c.mu.queue
	start, done, now := len(c.mu.out.buf), 0, int64(0)
	for q.Len() > 0 {
		e, body := q.Front()
		if e.Kind == flow.QueuedWrite {
			break
		}
		if c.mu.out.open() {
			if share >= 0 && len(c.mu.out.buf)-start >= share {
				more = true
				break
			}
			if e.Kind == flow.QueuedRead {
				if now == 0 && c.srv.Stages != nil {
					now = c.srv.Clock.Now()
				}
				if share >= 0 && (c.srv.lists(e.Op, body) || share <= appliedShare && dear(e.Op)) {
					more = true
					break
				}
				before := len(c.mu.out.buf)
				c.runRead(&readBegun{e.Op, e.Xid, body}, e.At, now)
				c.mu.stats.Replied(e.Op, e.Xid, c.srv.Store.State.LastZxid())
				if len(c.mu.out.buf)-before > largeReply {
					q.SetStrict()
				}
			} else {
				c.mu.out.buf = append(c.mu.out.buf, body...)
				c.mu.out.closing = e.Kind == flow.QueuedEnd
				c.mu.stats.Sent++
			}
		}
		done += q.PopRead()
		if share == CaughtUpShare && dear(e.Op) {
			more = q.Len() > 0
			break
		}
	}
	c.srv.InProcess.Add(-int64(done))
	return more
}

// leave leaves the front of the queue to catchUp. Its requests do not count as in process any more: they may wait
// for the client for long, and must not block other clients. REQUIRES: Conn.mu, Store.Mu for writing.
func (c *Conn) leave() {
	c.srv.InProcess.Add(-int64(c.mu.queue.LeaveAhead()))
	c.Left.Store(true)
	c.help()
}

// help starts catchUp if there is work for it. REQUIRES: Conn.mu.
func (c *Conn) help() {
	if !c.Left.Load() || c.mu.helped || c.mu.out.dead {
		return
	}
	c.mu.helped = c.srv.Spawn("catch up", c.catchUp)
}

// catchUp runs the reads that the applier has left, as far as the client takes the replies. When the client has
// taken more, it is started again.
func (c *Conn) catchUp() {
	for more := true; more; c.Flush() {
		listing := false
		c.srv.Turns.Take()
		c.srv.Store.Long.Lock()
		c.srv.Store.Mu.RLock()
		c.mu.Lock()
		switch {
		case !c.Left.Load(), c.pauses() && c.mu.out.open():
			more, c.mu.helped = false, false
		case !c.runQueued(CaughtUpShare):
			c.Left.Store(false)
		default:
			e, body := c.mu.queue.Front()
			listing = e.Kind == flow.QueuedRead && c.srv.lists(e.Op, body)
		}
		lost := !c.countUndelivered()
		c.wakeReader()
		c.mu.Unlock()
		c.srv.Store.Mu.RUnlock()
		c.srv.Store.Long.Unlock()
		c.srv.Turns.Pass()
		if listing && !lost {
			lost = !c.catchUpListing()
		}
		if lost {
			c.Abort()
		}
	}
}

// settle runs the reads that were left in front of a write that is applied next. If that was much work it releases
// the lock for a moment, so that readers do not wait for all such reads of the batch. REQUIRES: Store.Mu for
// writing.
func (a *applier) settle(c *Conn) {
	c.mu.Lock()
	if c.Left.Load() {
		before := len(c.mu.out.buf)
		c.runQueued(-1)
		c.Left.Store(false)
		a.forced += max(0, len(c.mu.out.buf)-before)
		c.wakeReader()
		a.mark(c)
	}
	c.mu.Unlock()
	if a.forced >= forcedShare {
		a.forced = 0
		st := a.srv.Store
		st.Publish()
		st.Mu.Unlock()
		st.Mu.Lock()
	}
}

// forget drops the reads that were left: the connection is dead. REQUIRES: Conn.mu, and that Out is not open.
func (c *Conn) forget() {
	if !c.Left.Load() {
		return
	}
	c.mu.queue.DropAhead()
	c.Left.Store(false)
}
