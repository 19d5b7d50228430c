package server

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// A client that comes back with very many watches must not hold up the others while they are registered: a long setWatches runs when
// nothing of its connection is in flight, registers so many watches under one hold of the locks, and reads the
// paths from where they have arrived. A change between two holds finds each path registered already or shows when it
// comes to be: no event is lost.

const (
	// longSetWatches is the length of a setWatches, in bytes, from which on it is registered in parts.
	longSetWatches = 64 << 10
	// watchesPerLock is how many watches are registered under one hold of the locks.
	watchesPerLock = 1024
	// countedPerTurn is how many paths are looked at in one turn.
	countedPerTurn = 64 << 10
)

// setLongWatches answers a long setWatches or setWatches2. It returns false if it has to wait until the connection's requests in
// flight are answered.
func (c *conn) setLongWatches(xid int32, op proto.OpCode, body []byte) bool {
	c.lockQueue()
	if c.mu.queue.len() > 0 || c.mu.out.pauses() {
		c.needs = needAlone
		return false
	}
	c.unlock()
	count, err := countWatches(op, body, c.srv.cfg.MaxWatches, c.workOn)
	if err != nil {
		c.answer(appendHeaderReply(nil, xid, c.srv.store.lastZxid(), proto.ErrMarshallingError), queuedReply)
		return true
	}
	r := proto.NewReader(body)
	relative := proto.Zxid(r.Int64())
	checked := false
	for _, kind := range watchLists(op) {
		for left := r.Count(4); left > 0; {
			n := min(left, watchesPerLock)
			left -= n
			c.workOn()
			if !c.setSomeWatches(&r, kind, n, relative, count, &checked) {
				return true
			}
		}
	}
	c.lockRead()
	zxid := c.srv.store.state.LastZxid()
	c.answer(appendHeaderReply(nil, xid, zxid, proto.OK), queuedReply)
	c.srv.stats.reads[opIndex(op)].Add(1)
	return true
}

// watchLists is the kinds of the lists in the body, in their order.
func watchLists(op proto.OpCode) []datatree.WatchKind {
	kinds := []datatree.WatchKind{datatree.WatchData, datatree.WatchExist, datatree.WatchChild, datatree.WatchPersistent, datatree.WatchRecursive}
	if op == proto.OpSetWatches {
		return kinds[:3]
	}
	return kinds
}

// countWatches checks the body and returns how many paths there are. Above limit, if that is not 0, it does not look further. Now and
// then it calls rest.
func countWatches(op proto.OpCode, body []byte, limit int, rest func()) (count int, err error) {
	r := proto.NewReader(body)
	r.Int64()
	for range watchLists(op) {
		n := r.Count(4)
		if n < 0 {
			return 0, proto.ErrMarshallingError
		}
		if count += n; limit > 0 && count > limit {
			return count, r.Err()
		}
		for i := range n {
			r.Text()
			if r.Err() != nil {
				return 0, r.Err()
			}
			if i%countedPerTurn == countedPerTurn-1 {
				rest()
			}
		}
	}
	return count, r.Err()
}

// setSomeWatches registers the next n paths of r under one hold of the locks. It returns false if the connection is over. The first
// time it compares count, how many there are in all, with the limit.
func (c *conn) setSomeWatches(r *proto.Reader, kind datatree.WatchKind, n int, relative proto.Zxid, count int, checked *bool) bool {
	c.lockRead()
	defer c.unlock()
	st := c.srv.store
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	id := st.slot(c)
	if id == 0 || !c.mu.out.open() {
		return false
	}
	if limit := c.srv.cfg.MaxWatches; !*checked && limit > 0 && st.watches.PathsOf(id)+count > limit {
		c.srv.log.Warn("closing a connection that brings more watches than warren.maxWatches",
			zap.Stringer("client_addr", c.remote), zap.Int("watches", st.watches.PathsOf(id)+count))
		c.mu.out.closing = true
		return false
	}
	*checked = true
	for range n {
		path := r.Text()
		if event, fire := st.watches.Rewatch(st.state, id, kind, path, relative); fire {
			c.mu.out.buf = appendEvent(c.mu.out.buf, event, path, -1)
		}
	}
	c.mu.out.seal()
	return true
}
