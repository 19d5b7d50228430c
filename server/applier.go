package server

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// applier applies durable txns to the state, fires watches and answers. It is the only writer of
// the state, and holds the write lock once for each batch.
type applier struct {
	srv  *Server
	in   <-chan *logBatch
	body []byte // reply body of the txn that is being applied
	// failed is set by a txn that could not be applied: nothing after it is, and nothing is answered.
	failed bool
	dirty  []*conn // connections with new output
	freed  []*conn // connections to close: their sessions have ended, or they take no events
	served int     // bytes of replies to reads behind writes that were executed under the present hold of the lock
	forced int     // the same for reads in front of writes

	// The event that is being delivered, encoded once for all its watchers. The events of one change differ in their types.
	event       []byte
	eventShared bool // connections keep event itself
	eventType   proto.EventType
	zxid        proto.Zxid
	fired       fired // watches, by this txn
	deliverFn   func(datatree.WatcherID, proto.EventType, []byte, datatree.ACLID)
}

func newApplier(srv *Server, in <-chan *logBatch) *applier {
	a := &applier{srv: srv, in: in}
	a.deliverFn = a.deliver
	return a
}

// flushInline is how many connections the applier flushes itself; more are handed to helpers, so
// that an event for very many watchers does not hold up the next batch.
const flushInline = 128

// run is the applier goroutine. It ends when in is closed.
func (a *applier) run() {
	for b := range a.in {
		a.apply(b)
		a.srv.logBatches.put(b)
	}
}

func (a *applier) apply(b *logBatch) {
	if b.passed != nil {
		close(b.passed)
		return
	}
	st := a.srv.store
	now := a.srv.clock.now()
	st.long.Lock()
	st.mu.Lock()
	for i := range b.items {
		if a.failed {
			break
		}
		it := &b.items[i]
		if it.conn != nil && it.conn.left.Load() {
			a.settle(it.conn)
		}
		if it.payload.n == 0 {
			a.answerWithout(it)
			continue
		}
		a.applyOne(it, b.payload(it), b.create2[it.create2.off:it.create2.off+it.create2.n], now)
	}
	st.publish()
	a.served, a.forced = 0, 0
	st.mu.Unlock()
	st.long.Unlock()
	a.srv.stats.applied(b, now)
	a.flush()
}

// applyOne applies one txn, under the write lock, and answers who asked for it. Events go out
// before the reply.
func (a *applier) applyOne(it *item, payload []byte, create2 []int32, now int64) {
	a.forgetEvent()
	var body []byte
	var applied datatree.Applied
	var err error
	if log := a.srv.security.audit; log != nil && it.op == proto.OpCloseSession {
		var h proto.TxnHeader
		if h.ReadFrom(payload) == nil && h.Type == proto.OpCloseSession {
			log.ended(a.srv.store, h.ClientID)
		}
	}
	if len(create2) > 0 {
		body, applied, err = a.srv.store.state.ApplyCreate2(payload, a, a.body[:0], create2)
	} else {
		body, applied, err = a.srv.store.state.Apply(payload, a, a.body[:0], it.conn != nil)
	}
	if err != nil {
		// The payload is what our own Preparer wrote, and is durable: to go on would be to diverge.
		a.failed = true
		a.srv.fatal("applying a txn", err)
		return
	}
	a.body = body
	if a.srv.cfg.DigestEnabled {
		a.srv.digests.note(applied.Header.Zxid, a.srv.store.state.Digest())
	}
	if applied.DigestMismatch {
		a.srv.metrics.digestMismatches.Inc()
		a.srv.log.Error("digest of the tree differs from the txn's: this server's state is not what was proposed",
			zap.Stringer("zxid", applied.Header.Zxid), zap.Stringer("session_id", applied.Header.ClientID))
	}
	if it.conn != nil && !it.became(&applied.Header) {
		// To say that another txn's result is the answer would be worse than to say nothing: the client learns that its
		// connection is lost, and that its request may have been applied.
		a.srv.log.Error("a txn is not what its request became: closing the connection", zap.Stringer("zxid", applied.Header.Zxid),
			zap.Stringer("session_id", applied.Header.ClientID), zap.Stringer("type", applied.Header.Type), zap.Int32("cxid", applied.Header.Cxid),
			zap.Stringer("request", it.op), zap.Int32("xid", it.xid), zap.Stringer("request_session_id", it.session.id))
		a.lose(it)
		it = &item{op: applied.Header.Type}
	}
	switch it.op {
	case proto.OpCreateSession:
		if it.conn != nil {
			a.established(it, applied.Header.Zxid)
		}
		return
	case proto.OpCloseSession:
		a.sessionEnded(it, applied.Header.ClientID)
	}
	if it.conn != nil {
		a.answer(it, applied.Header.Zxid, applied.Err, body, now)
	}
}

// lose ends the connection of a request that is not answered.
func (a *applier) lose(it *item) {
	c := it.conn
	if it.op == proto.OpCreateSession { // it waits in no queue
		a.srv.inProcess.Add(-1)
	} else {
		c.mu.Lock()
		c.mu.out.dead = true // what waits behind it is not answered either
		if log := a.srv.security.audit; log != nil {
			_, subject := c.mu.queue.front()
			log.lost(c, it.op, subject)
		}
		a.advance(c)
		c.mu.Unlock()
	}
	a.freed = append(a.freed, c)
}

// became reports whether a txn is what the request became.
func (it *item) became(h *proto.TxnHeader) bool {
	return h.Cxid == it.xid && it.session != nil && h.ClientID == it.session.id && (h.Type == it.op || h.Type == proto.OpError)
}

// answer appends the reply to the write at the head of the connection's queue, and runs the reads
// that waited behind it.
func (a *applier) answer(it *item, zxid proto.Zxid, err proto.ErrCode, body []byte, now int64) {
	c := it.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == proto.ErrSessionMoved { // another server has the session: this connection must not go on
		c.mu.out.dead = true
		a.freed = append(a.freed, c)
	}
	if it.op == proto.OpSync && err == proto.OK {
		body, err = a.syncBody(c)
	}
	if c.mu.out.open() {
		start := len(c.mu.out.buf)
		b := beginReply(c.mu.out.buf)
		if err == proto.OK {
			b = append(b, body...)
		}
		endReply(b, start, it.xid, zxid, err)
		c.mu.stats.responded(len(b) - start)
		c.mu.out.buf = b
		c.mu.stats.answered(it, zxid, now)
		if it.op == proto.OpCloseSession {
			c.mu.out.closing = true
		}
	}
	if log := a.srv.security.audit; log != nil {
		_, subject := c.mu.queue.front()
		log.answered(c, it.op, subject, err, body)
	}
	a.advance(c)
}

// answerWithout answers a request that did not become a txn.
func (a *applier) answerWithout(it *item) {
	c := it.conn
	if it.op == proto.OpCloseSession && it.err == proto.OK && !it.drop { // of a local session
		a.sessionEnded(it, it.session.id)
	}
	if c == nil {
		return
	}
	switch {
	case it.op == proto.OpCreateSession, it.drop:
		a.lose(it)
	default:
		a.answer(it, a.srv.store.state.LastZxid(), it.err, nil, it.received)
	}
}

// syncBody is the body of the reply to the sync at the head of the connection's queue: its path. REQUIRES: c.mu.
func (a *applier) syncBody(c *conn) ([]byte, proto.ErrCode) {
	var req proto.PathRequest
	if _, body := c.mu.queue.front(); req.ReadFrom(body) != nil {
		return nil, proto.ErrMarshallingError
	}
	a.body = proto.AppendBuffer(a.body[:0], req.Path)
	return a.body, proto.OK
}

// advance takes the write that was answered off the connection's queue and runs what follows it,
// up to the next write, if that is little: the rest it leaves to catchUp. REQUIRES: c.mu, store.mu.
func (a *applier) advance(c *conn) {
	e, _ := c.mu.queue.front()
	a.srv.budget.release(e.weight)
	c.mu.queue.pop()
	a.srv.inProcess.Add(-1)
	before := len(c.mu.out.buf)
	if c.runQueued(max(0, min(appliedShare, appliedMost-a.served))) {
		c.leave()
	}
	a.served += len(c.mu.out.buf) - before
	c.wakeReader()
	a.mark(c)
}

// mark remembers that c is to be flushed. REQUIRES: c.mu.
func (a *applier) mark(c *conn) {
	if !c.mu.dirty {
		c.mu.dirty = true
		a.dirty = append(a.dirty, c)
	}
}

// established tells the client that its session exists.
func (a *applier) established(it *item, zxid proto.Zxid) {
	a.srv.inProcess.Add(-1)
	c := it.conn
	resp := proto.ConnectResponse{
		TimeOut: it.session.timeoutMs.Load(), SessionID: it.session.id,
		Password: proto.SessionPassword(it.session.id), HasReadOnly: c.knowsReadOnly,
	}
	c.session.Store(it.session)
	c.mu.Lock()
	if c.mu.out.open() {
		c.mu.out.buf = appendConnectResponse(c.mu.out.buf, &resp)
		c.mu.stats.replied(proto.OpCreateSession, 0, zxid)
	}
	c.wakeReader()
	a.mark(c)
	c.mu.Unlock()
}

// sessionEnded forgets the session. The connection that serves it is closed: after the reply, if
// it was the client's own wish.
func (a *applier) sessionEnded(it *item, id proto.SessionID) {
	c := a.srv.tracker.remove(id)
	if c != nil && c != it.conn {
		a.freed = append(a.freed, c)
	}
}

// Changed fires the watches on what a txn has changed. It implements datatree.Sink.
func (a *applier) Changed(ch datatree.Change) {
	a.zxid = ch.Zxid
	a.forgetEvent()
	a.srv.store.watches.Fire(ch, a.deliverFn)
	a.srv.metrics.fire(&a.fired)
}

// forgetEvent makes room for the next event. What is shared stays as it is.
func (a *applier) forgetEvent() {
	if a.eventShared {
		a.event, a.eventShared = nil, false
	}
	a.event = a.event[:0]
}

// deliver adds one event to one connection's output, unless it may not read the znode.
func (a *applier) deliver(id datatree.WatcherID, t proto.EventType, path []byte, acl datatree.ACLID) {
	a.fired.add(t)
	c := a.srv.store.slots[id]
	if c == nil || !a.srv.allows(acl, proto.PermRead, *c.ids.Load()) {
		return
	}
	if len(a.event) == 0 || a.eventType != t {
		a.forgetEvent()
		a.eventShared = len(path) >= sharedEvent
		a.event = appendEvent(a.event, t, path, a.zxid)
		a.eventType = t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.mu.out.open():
	case c.mu.out.waiting() > outputLimit, !c.countUndelivered():
		a.freed = append(a.freed, c)
	default:
		c.mu.out.addEvent(a.event, a.eventShared)
		c.mu.stats.told(len(a.event))
		a.mark(c)
	}
}

// flush sends what the batch has added, without any lock.
func (a *applier) flush() {
	for _, c := range a.freed {
		c.abort()
	}
	clear(a.freed)
	a.freed = a.freed[:0]
	if len(a.dirty) <= flushInline {
		flushAll(a.dirty)
	} else {
		a.flushByHelpers()
	}
	clear(a.dirty)
	a.dirty = a.dirty[:0]
}

// flushByHelpers shares very many connections among goroutines that outlive the batch. Two of
// them may meet on one connection; conn.flush lets one in at a time.
func (a *applier) flushByHelpers() {
	for rest := a.dirty; len(rest) > 0; {
		n := min(len(rest), flushShare)
		share := append([]*conn(nil), rest[:n]...)
		if !a.srv.start("flush", func() { flushAll(share) }) {
			flushAll(share)
		}
		rest = rest[n:]
	}
}

// flushShare is how many connections one helper flushes.
const flushShare = 1024

func flushAll(conns []*conn) {
	for _, c := range conns {
		c.mu.Lock()
		c.mu.dirty = false
		c.mu.Unlock()
		c.flush()
	}
}
