package serve

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
	// CaughtUpShare is what catchUp runs.
	CaughtUpShare = 256 << 10
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
func (c *Conn) runQueued(share int) (more bool) {
	q := &c.Mu.Queue
	start, done := len(c.Mu.Out.Buf), 0
	for q.Len() > 0 {
		e, body := q.Front()
		if e.Kind == flow.QueuedWrite {
			break
		}
		if c.Mu.Out.open() {
			if share >= 0 && len(c.Mu.Out.Buf)-start >= share {
				more = true
				break
			}
			if e.Kind == flow.QueuedRead {
				if share >= 0 && (c.srv.lists(e.Op, body) || share <= appliedShare && dear(e.Op)) {
					more = true
					break
				}
				before := len(c.Mu.Out.Buf)
				c.Mu.Out.Buf = c.srv.execute(c, e.Xid, e.Op, body, c.Mu.Out.Buf)
				c.Mu.stats.Replied(e.Op, e.Xid, c.srv.Store.State.LastZxid())
				if len(c.Mu.Out.Buf)-before > largeReply {
					q.SetStrict()
				}
			} else {
				c.Mu.Out.Buf = append(c.Mu.Out.Buf, body...)
				c.Mu.Out.Closing = e.Kind == flow.QueuedEnd
				c.Mu.stats.Sent++
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

// leave leaves the front of the queue to catchUp. It does not count as in process any more: it may wait for the client for
// long, and other clients shall not. REQUIRES: c.mu, store.mu for writing.
func (c *Conn) leave() {
	c.srv.InProcess.Add(-int64(c.Mu.Queue.LeaveAhead()))
	c.Left.Store(true)
	c.help()
}

// help starts catchUp if there is something for it to do. REQUIRES: c.mu.
func (c *Conn) help() {
	if !c.Left.Load() || c.Mu.helped || c.Mu.Out.Dead {
		return
	}
	c.Mu.helped = c.srv.Spawn("catch up", c.catchUp)
}

// catchUp runs what the applier has left, as far as the client takes the replies. When the client has taken more, it is
// started again.
func (c *Conn) catchUp() {
	for more := true; more; c.Flush() {
		listing := false
		c.srv.Turns.Take()
		c.srv.Store.Long.Lock()
		c.srv.Store.Mu.RLock()
		c.Mu.Lock()
		switch {
		case !c.Left.Load(), c.Mu.Out.pauses() && c.Mu.Out.open():
			more, c.Mu.helped = false, false
		case !c.runQueued(CaughtUpShare):
			c.Left.Store(false)
		default:
			e, body := c.Mu.Queue.Front()
			listing = e.Kind == flow.QueuedRead && c.srv.lists(e.Op, body)
		}
		lost := !c.countUndelivered()
		c.wakeReader()
		c.Mu.Unlock()
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

// settle runs what was left in front of a write that is applied next. It gives the lock up for a moment if that was much, so
// that readers do not wait for all the others of the batch.
//
// REQUIRES: store.mu for writing.
func (a *applier) settle(c *Conn) {
	c.Mu.Lock()
	if c.Left.Load() {
		before := len(c.Mu.Out.Buf)
		c.runQueued(-1)
		c.Left.Store(false)
		a.forced += max(0, len(c.Mu.Out.Buf)-before)
		c.wakeReader()
		a.mark(c)
	}
	c.Mu.Unlock()
	if a.forced >= forcedShare {
		a.forced = 0
		st := a.srv.Store
		st.Publish()
		st.Mu.Unlock()
		st.Mu.Lock()
	}
}

// forget drops what was left: the connection is dead. REQUIRES: c.mu, and that out is not open.
func (c *Conn) forget() {
	if !c.Left.Load() {
		return
	}
	c.Mu.Queue.DropAhead()
	c.Left.Store(false)
}
