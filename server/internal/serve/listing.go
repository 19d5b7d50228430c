package serve

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// To read the names of a million children takes a fifth of a second, and nobody shall wait that long. So the children of a wide znode are
// read in slices, and everybody gets his turn between them, the applier with its txns, too: see datatree.Listing. One such reply is
// put together at a time, for they take memory.

// ChildrenPerLock is how many children are read under one hold of store.mu.
const ChildrenPerLock = 2048

// lists reports whether a read asks for the children of a wide znode. REQUIRES: store.mu.
func (s *Front) lists(op proto.OpCode, body []byte) bool {
	if op != proto.OpGetChildren && op != proto.OpGetChildren2 || s.Store.State.Wide() == 0 {
		return false
	}
	var req proto.PathWatchRequest
	return req.ReadFrom(body) == nil && s.Store.State.IsWide(req.Path)
}

// mayList reports whether a read may be one that lists says true of, without a lock.
func (s *Front) mayList(op proto.OpCode) bool {
	return (op == proto.OpGetChildren || op == proto.OpGetChildren2) && s.Store.Wide.Load() > 0
}

// collect reads the children that a request asks for, in slices, and calls rest between them. It returns with store.mu held for
// reading and c.mu, and a Listing that is complete, or nil if the connection is over or the request is to be executed as others are: the
// znode is gone, for example.
//
// REQUIRES: store.listings, and no other lock.
func (c *Conn) collect(body []byte, rest func()) *datatree.Listing {
	st := c.srv.Store
	var l *datatree.Listing
	for {
		st.Mu.RLock()
		c.Mu.Lock()
		if l != nil && (!l.Of(st.State) || !c.Mu.Out.open()) {
			l.Close()
			return nil
		}
		if l == nil {
			var req proto.PathWatchRequest
			if req.ReadFrom(body) != nil || !c.Mu.Out.open() {
				return nil
			}
			if l, _ = st.State.NewListing(req.Path, *c.ids.Load()); l == nil {
				return nil
			}
		}
		if l.Next(ChildrenPerLock) {
			l.Close()
			return l
		}
		c.Mu.Unlock()
		st.Mu.RUnlock()
		l.Sift()
		rest()
	}
}

// answerListing adds the reply to a getChildren or getChildren2 that was collected.
// REQUIRES: the locks under which it is complete.
func (c *Conn) answerListing(xid int32, op proto.OpCode, body []byte, l *datatree.Listing) {
	s, o := c.srv, &c.Mu.Out
	zxid := s.Store.State.LastZxid()
	count, names, err := l.Children(*c.ids.Load())
	var req proto.PathWatchRequest
	if err == proto.OK && req.ReadFrom(body) == nil && req.Watch &&
		!s.Watchers.Watch(c, watch.Child, req.Path, s.Config.MaxWatches) {
		err = proto.ErrThrottledOp
	}
	start := len(o.Buf)
	b := beginReply(o.Buf)
	var tail []byte
	size := 0
	if err == proto.OK {
		b = proto.AppendInt32(b, count)
		for _, chunk := range names {
			size += len(chunk)
		}
		if op == proto.OpGetChildren2 {
			tail = l.AppendStat(nil)
		}
	}
	endReplyOf(b, start, size+len(tail), xid, zxid, err)
	o.Buf = b
	size += len(tail) + len(b) - start
	if err == proto.OK {
		o.put(o.Buf)
		for _, chunk := range names {
			o.put(chunk)
		}
		o.Buf = tail
	}
	s.Stats.CountRead(op)
	c.Mu.stats.Responded(size)
	c.Mu.stats.Replied(op, xid, zxid)
}

// readListing executes a read that lists says true of, in the connection's turn.
// REQUIRES: lockRead, and nothing in the queue.
func (c *Conn) readListing(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.Unlock()
	c.passTurn()
	c.srv.Store.Listings.Lock()
	defer c.srv.Store.Listings.Unlock()
	c.workOn()
	l := c.collect(body, c.workOn)
	c.mode, c.reads = lockRead, 0
	defer c.Unlock()
	switch {
	case !c.Mu.Out.open():
		return true, nil
	case l == nil:
		return c.readNow(xid, op, body)
	}
	c.answerListing(xid, op, body, l)
	c.executed++
	if !c.countUndelivered() {
		return false, errUndelivered
	}
	return true, nil
}

// catchUpListing is what catchUp does when the first of what was left is a read that lists says true of. It returns false if the
// connection has to go.
func (c *Conn) catchUpListing() bool {
	s := c.srv
	s.Store.Listings.Lock()
	defer s.Store.Listings.Unlock()
	c.Mu.Lock()
	if !c.Left.Load() || c.Mu.Queue.Len() == 0 {
		c.Mu.Unlock()
		return true
	}
	q := &c.Mu.Queue
	e, body := q.Front()
	popped, body := q.Popped(), append([]byte(nil), body...)
	c.Mu.Unlock()
	if e.Kind != flow.QueuedRead || e.Op != proto.OpGetChildren && e.Op != proto.OpGetChildren2 {
		return true // the applier had to execute it
	}
	s.Turns.Take()
	defer s.Turns.Pass()
	l := c.collect(body, func() { s.Turns.Pass(); s.Turns.Take() })
	defer s.Store.Mu.RUnlock()
	defer c.Mu.Unlock()
	if !c.Mu.Out.open() || !c.Left.Load() || q.Popped() != popped {
		return true
	}
	if l == nil {
		c.Mu.Out.Buf = s.execute(c, e.Xid, e.Op, body, c.Mu.Out.Buf)
		c.Mu.stats.Replied(e.Op, e.Xid, s.Store.State.LastZxid())
	} else {
		c.answerListing(e.Xid, e.Op, body, l)
	}
	q.SetStrict()
	s.InProcess.Add(-int64(q.PopRead()))
	if q.Ahead() == 0 {
		c.Left.Store(false)
	}
	c.wakeReader()
	return c.countUndelivered()
}
