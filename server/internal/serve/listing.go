package serve

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

// To read the names of a million children takes a fifth of a second, which is too long to hold a lock. So the
// children of a wide znode are read in slices. Between slices other connections get their turn, and the applier
// applies its txns: see datatree.Listing. Only one such reply is assembled at a time, because they take much
// memory.

// childrenPerLock is how many children are read under one hold of Store.Mu.
const childrenPerLock = 2048

// lists reports whether a read asks for the children of a wide znode. REQUIRES: Store.Mu.
func (s *Front) lists(q *request) bool {
	if q.op != proto.OpGetChildren && q.op != proto.OpGetChildren2 || s.Store.State.Wide() == 0 {
		return false
	}
	var req proto.PathWatchRequest
	return req.ReadFrom(q.body) == nil && s.Store.State.IsWide(req.Path)
}

// mayList reports whether lists may be true of a read. It needs no lock.
func (s *Front) mayList(op proto.OpCode) bool {
	return (op == proto.OpGetChildren || op == proto.OpGetChildren2) && s.Store.Wide.Load() > 0
}

// collect reads the children that a request asks for, in slices, and calls rest between slices. It returns with
// Store.Mu, held for reading, and Conn.mu. It returns a complete Listing, or nil if the connection has ended or the
// request must be executed like others, for example because the znode was deleted. REQUIRES: Store.Listings, and no
// other lock.
func (c *Conn) collect(body []byte, rest func()) *datatree.Listing {
	st := c.srv.Store
	var l *datatree.Listing
	for {
		st.Mu.RLock()
		c.mu.Lock()
		if l != nil && (!l.Of(st.State) || !c.mu.out.open()) {
			l.Close()
			return nil
		}
		if l == nil {
			var req proto.PathWatchRequest
			if req.ReadFrom(body) != nil || !c.mu.out.open() {
				return nil
			}
			if l, _ = st.State.NewListing(req.Path, c.who()); l == nil {
				return nil
			}
		}
		if l.Next(childrenPerLock) {
			l.Close()
			return l
		}
		c.mu.Unlock()
		st.Mu.RUnlock()
		l.Sift()
		rest()
	}
}

// answerListing adds the reply to a getChildren or getChildren2 after collect. REQUIRES: the locks with which
// collect has returned. The reading of the children began at began, ns on the server's clock.
func (c *Conn) answerListing(q *request, l *datatree.Listing, began int64) {
	s, o := c.srv, &c.mu.out
	zxid := s.Store.State.LastZxid()
	count, names, err := l.Children(c.who())
	var req proto.PathWatchRequest
	if err == proto.OK && req.ReadFrom(q.body) == nil && req.Watch &&
		!s.watchers.watch(c, watch.Child, req.Path) {
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
		if q.op == proto.OpGetChildren2 {
			tail = l.AppendStat(nil)
		}
	}
	endReplyOf(b, start, size+len(tail), q.xid, zxid, err)
	o.buf = b
	size += len(tail) + len(b) - start
	if err == proto.OK {
		o.put(o.buf, true)
		for _, chunk := range names {
			o.put(chunk, false)
		}
		o.buf = tail
	}
	s.Stats.Count(q.op)
	c.mu.stats.Responded(size)
	c.mu.stats.Replied(q.op, q.xid, zxid)
	if c.mu.sampler.Due() {
		c.recordRead(q, size, began)
	}
}

// catchUpListing is the part of catchUp for a read of which lists is true, at the front of the queue. It returns
// false if the connection has to be closed.
func (c *Conn) catchUpListing() bool {
	s := c.srv
	s.Store.Listings.Lock()
	defer s.Store.Listings.Unlock()
	c.mu.Lock()
	if !c.mu.queue.left.Load() || c.mu.queue.length() == 0 {
		c.mu.Unlock()
		return true
	}
	q := &c.mu.queue
	e, body := q.front()
	popped, body := q.popped, append([]byte(nil), body...)
	c.mu.Unlock()
	if e.kind != queuedRead || e.op != proto.OpGetChildren && e.op != proto.OpGetChildren2 {
		return true // the applier has executed it
	}
	s.turns.Take()
	defer s.turns.Pass()
	began := s.Clock.Now()
	l := c.collect(body, func() { s.turns.Pass(); s.turns.Take() })
	defer s.Store.Mu.RUnlock()
	defer c.mu.Unlock()
	if !c.mu.out.open() || !c.mu.queue.left.Load() || q.popped != popped {
		return true
	}
	if l == nil {
		s.execute(c, &request{e.op, e.xid, body})
	} else {
		c.answerListing(&request{e.op, e.xid, body}, l, began)
	}
	q.strict = true
	s.InProcess.Add(-int64(q.popRead()))
	if q.ahead() == 0 {
		c.mu.queue.left.Store(false)
	}
	c.wakeReader()
	return c.countUndelivered()
}
