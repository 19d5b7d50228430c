package server

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// Reads that a client has sent behind a write are run by the applier as soon as the write is applied, since that costs the
// least. But it holds the write lock, and what they answer waits in memory: so it runs few, and leaves the rest to a
// goroutine that holds the read lock for a moment at a time, and rests while the client takes nothing. If the session's next write comes to
// be applied before that is done, what stands in front of the write is run first; conn.write sees to it that that is little.

// Shares of what is run under one hold of a lock, in bytes of replies.
const (
	// appliedShare is what the applier runs for one connection after a write.
	appliedShare = 64 << 10
	// appliedMost is what it runs for all of them under one hold of the lock, but for the last read.
	appliedMost = 256 << 10
	// caughtUpShare is what catchUp runs.
	caughtUpShare = 256 << 10
	// forcedShare is what may be run in front of writes until the applier lets readers in between.
	forcedShare = 1 << 20
	// largeReply is the size of a reply from which on no read of the connection may wait in front of a write.
	largeReply = 64 << 10
)

// dear reports whether a small request of the kind may take very long, whatever it answers.
func dear(op proto.OpCode) bool {
	switch op {
	case proto.OpGetEphemerals, proto.OpGetAllChildrenNumber, proto.OpMultiRead,
		proto.OpSetWatches, proto.OpSetWatches2:
		return true
	}
	return false
}

// runQueued runs what stands in the queue in front of the next write, until the replies are share long, and reports
// whether there is more. A share below 0 has no end, and includes what is dear. REQUIRES: c.mu, store.mu.
func (c *conn) runQueued(share int) (more bool) {
	q := &c.mu.queue
	start, done := len(c.mu.out.buf), 0
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
				if share >= 0 && (c.srv.lists(e.Op, body) || share <= appliedShare && dear(e.Op)) {
					more = true
					break
				}
				before := len(c.mu.out.buf)
				c.mu.out.buf = c.srv.execute(c, e.Xid, e.Op, body, c.mu.out.buf)
				c.mu.stats.Replied(e.Op, e.Xid, c.srv.store.state.LastZxid())
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
		if share == caughtUpShare && dear(e.Op) {
			more = q.Len() > 0
			break
		}
	}
	c.srv.inProcess.Add(-int64(done))
	return more
}

// leave leaves the front of the queue to catchUp. It does not count as in process any more: it may wait for the client for
// long, and other clients shall not. REQUIRES: c.mu, store.mu for writing.
func (c *conn) leave() {
	c.srv.inProcess.Add(-int64(c.mu.queue.LeaveAhead()))
	c.left.Store(true)
	c.help()
}

// help starts catchUp if there is something for it to do. REQUIRES: c.mu.
func (c *conn) help() {
	if !c.left.Load() || c.mu.helped || c.mu.out.dead {
		return
	}
	c.mu.helped = c.srv.start("catch up", c.catchUp)
}

// catchUp runs what the applier has left, as far as the client takes the replies. When the client has taken more, it is
// started again.
func (c *conn) catchUp() {
	for more := true; more; c.flush() {
		listing := false
		c.srv.turns.Take()
		c.srv.store.long.Lock()
		c.srv.store.mu.RLock()
		c.mu.Lock()
		switch {
		case !c.left.Load(), c.mu.out.pauses() && c.mu.out.open():
			more, c.mu.helped = false, false
		case !c.runQueued(caughtUpShare):
			c.left.Store(false)
		default:
			e, body := c.mu.queue.Front()
			listing = e.Kind == flow.QueuedRead && c.srv.lists(e.Op, body)
		}
		lost := !c.countUndelivered()
		c.wakeReader()
		c.mu.Unlock()
		c.srv.store.mu.RUnlock()
		c.srv.store.long.Unlock()
		c.srv.turns.Pass()
		if listing && !lost {
			lost = !c.catchUpListing()
		}
		if lost {
			c.Abort()
		}
	}
}

// settle runs what was left in front of a write that is applied next. It gives the lock up for a moment if that was much, so
// that readers do not wait for all the others of the batch.
//
// REQUIRES: store.mu for writing.
func (a *applier) settle(c *conn) {
	c.mu.Lock()
	if c.left.Load() {
		before := len(c.mu.out.buf)
		c.runQueued(-1)
		c.left.Store(false)
		a.forced += max(0, len(c.mu.out.buf)-before)
		c.wakeReader()
		a.mark(c)
	}
	c.mu.Unlock()
	if a.forced >= forcedShare {
		a.forced = 0
		st := a.srv.store
		st.publish()
		st.mu.Unlock()
		st.mu.Lock()
	}
}

// forget drops what was left: the connection is dead. REQUIRES: c.mu, and that out is not open.
func (c *conn) forget() {
	if !c.left.Load() {
		return
	}
	c.mu.queue.DropAhead()
	c.left.Store(false)
}
