package server

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// To read the names of a million children takes a fifth of a second, and nobody shall wait that long. So the children of a wide znode are
// read in slices, and everybody gets his turn between them, the applier with its txns, too: see datatree.Listing. One such reply is
// put together at a time, for they take memory.

// childrenPerLock is how many children are read under one hold of store.mu.
const childrenPerLock = 2048

// lists reports whether a read asks for the children of a wide znode. REQUIRES: store.mu.
func (s *front) lists(op proto.OpCode, body []byte) bool {
	if op != proto.OpGetChildren && op != proto.OpGetChildren2 || s.store.state.Wide() == 0 {
		return false
	}
	var req proto.PathWatchRequest
	return req.ReadFrom(body) == nil && s.store.state.IsWide(req.Path)
}

// mayList reports whether a read may be one that lists says true of, without a lock.
func (s *front) mayList(op proto.OpCode) bool {
	return (op == proto.OpGetChildren || op == proto.OpGetChildren2) && s.store.wide.Load() > 0
}

// collect reads the children that a request asks for, in slices, and calls rest between them. It returns with store.mu held for
// reading and c.mu, and a Listing that is complete, or nil if the connection is over or the request is to be executed as others are: the
// znode is gone, for example.
//
// REQUIRES: store.listings, and no other lock.
func (c *conn) collect(body []byte, rest func()) *datatree.Listing {
	st := c.srv.store
	var l *datatree.Listing
	for {
		st.mu.RLock()
		c.mu.Lock()
		if l != nil && (!l.Of(st.state) || !c.mu.out.open()) {
			l.Close()
			return nil
		}
		if l == nil {
			var req proto.PathWatchRequest
			if req.ReadFrom(body) != nil || !c.mu.out.open() {
				return nil
			}
			if l, _ = st.state.NewListing(req.Path, *c.ids.Load()); l == nil {
				return nil
			}
		}
		if l.Next(childrenPerLock) {
			l.Close()
			return l
		}
		c.mu.Unlock()
		st.mu.RUnlock()
		l.Sift()
		rest()
	}
}

// answerListing adds the reply to a getChildren or getChildren2 that was collected.
// REQUIRES: the locks under which it is complete.
func (c *conn) answerListing(xid int32, op proto.OpCode, body []byte, l *datatree.Listing) {
	s, o := c.srv, &c.mu.out
	zxid := s.store.state.LastZxid()
	count, names, err := l.Children(*c.ids.Load())
	var req proto.PathWatchRequest
	if err == proto.OK && req.ReadFrom(body) == nil && req.Watch &&
		!s.store.watch(c, watch.Child, req.Path, s.cfg.MaxWatches) {
		err = proto.ErrThrottledOp
	}
	start := len(o.buf)
	b := beginReply(o.buf)
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
	o.buf = b
	size += len(tail) + len(b) - start
	if err == proto.OK {
		o.put(o.buf)
		for _, chunk := range names {
			o.put(chunk)
		}
		o.buf = tail
	}
	s.stats.CountRead(op)
	c.mu.stats.Responded(size)
	c.mu.stats.Replied(op, xid, zxid)
}

// readListing executes a read that lists says true of, in the connection's turn.
// REQUIRES: lockRead, and nothing in the queue.
func (c *conn) readListing(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.unlock()
	c.passTurn()
	c.srv.store.listings.Lock()
	defer c.srv.store.listings.Unlock()
	c.workOn()
	l := c.collect(body, c.workOn)
	c.mode, c.reads = lockRead, 0
	defer c.unlock()
	switch {
	case !c.mu.out.open():
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
func (c *conn) catchUpListing() bool {
	s := c.srv
	s.store.listings.Lock()
	defer s.store.listings.Unlock()
	c.mu.Lock()
	if !c.left.Load() || c.mu.queue.Len() == 0 {
		c.mu.Unlock()
		return true
	}
	q := &c.mu.queue
	e, body := q.Front()
	popped, body := q.Popped(), append([]byte(nil), body...)
	c.mu.Unlock()
	if e.Kind != flow.QueuedRead || e.Op != proto.OpGetChildren && e.Op != proto.OpGetChildren2 {
		return true // the applier had to execute it
	}
	s.turns.Take()
	defer s.turns.Pass()
	l := c.collect(body, func() { s.turns.Pass(); s.turns.Take() })
	defer s.store.mu.RUnlock()
	defer c.mu.Unlock()
	if !c.mu.out.open() || !c.left.Load() || q.Popped() != popped {
		return true
	}
	if l == nil {
		c.mu.out.buf = s.execute(c, e.Xid, e.Op, body, c.mu.out.buf)
		c.mu.stats.Replied(e.Op, e.Xid, s.store.state.LastZxid())
	} else {
		c.answerListing(e.Xid, e.Op, body, l)
	}
	q.SetStrict()
	s.inProcess.Add(-int64(q.PopRead()))
	if q.Ahead() == 0 {
		c.left.Store(false)
	}
	c.wakeReader()
	return c.countUndelivered()
}
