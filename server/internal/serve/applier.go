package serve

import (
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// applier applies durable txns to the state, fires watches and answers. It is the only writer of the state, and
// holds the write lock once for each batch, except for the ends of sessions with very many ephemerals: see ending.go.
type applier struct {
	srv  *Front
	body []byte // reply body of the txn that is being applied
	// failed is set by a txn that could not be applied. No txn after it is applied, and nothing is answered.
	failed bool
	dirty  []*Conn         // connections with new output
	freed  []sessions.Conn // connections to be closed: their sessions have ended, or they take no events
	served int             // bytes of replies to reads behind writes, executed under the present hold of the lock
	forced int             // the same for reads that were queued before a write
	reaps  bool            // a session has ended whose memory is not freed

	// event is the event that is being delivered, encoded once for all its watchers. The events of one change
	// differ in their types.
	event       []byte
	eventShared bool // connections hold event itself, not a copy
	eventType   proto.EventType
	zxid        proto.Zxid
	fired       env.Fired // watches that this txn has fired
	deliverFn   func(watch.WatcherID, proto.EventType, []byte, datatree.ACLID)
}

func newApplier(srv *Front) *applier {
	a := &applier{srv: srv}
	a.deliverFn = a.deliver
	return a
}

// flushInline is how many connections the applier flushes itself. More are handed to helpers, so that an event for
// very many watchers does not hold up the next batch.
const flushInline = 128

func (a *applier) Apply(b *flow.ApplyBatch) {
	items := b.Items
	e := a.applySome(b, nil)
	for rest := items; e != nil; {
		rest = rest[len(b.Items):]
		a.prepare(e)
		b.Items = rest
		e = a.applySome(b, e)
	}
	b.Items = items
}

// applySome applies a batch under one hold of the lock, up to an item that ends a session in steps: it takes that and
// what follows out of the batch, and returns the end. first is that of the first item, if it has been prepared.
func (a *applier) applySome(b *flow.ApplyBatch, first *end) (next *end) {
	st := a.srv.Store
	now := a.srv.Clock.Now()
	st.Long.Lock()
	st.Mu.Lock()
	for i := range b.Items {
		if a.failed {
			break
		}
		it := &b.Items[i]
		if first == nil || i > 0 {
			if first, next = nil, a.endOf(it); next != nil {
				b.Items = b.Items[:i]
				break
			}
		}
		if c := connOf(it); c != nil && c.mu.queue.left.Load() {
			a.settle(c)
		}
		if it.Payload == nil {
			a.answerWithout(it)
			continue
		}
		a.applyOne(it, it.Payload, b.Create2[it.Create2.Off:it.Create2.Off+it.Create2.N], first, now)
	}
	st.Publish()
	a.served, a.forced = 0, 0
	st.Mu.Unlock()
	st.Long.Unlock()
	a.account(b, now)
	a.measureAll(b)
	a.flush()
	return next
}

// account counts a batch. Its replies are ready at now.
func (a *applier) account(b *flow.ApplyBatch, now int64) {
	txns, made := 0, int64(0)
	for i := range b.Items {
		it := &b.Items[i]
		if it.Client != nil {
			a.srv.Stats.WriteLatency.Observe(figures.Ms(now - it.Received))
		}
		if it.Payload != nil {
			txns++
		}
	}
	for i := len(b.Items) - 1; i >= 0 && made == 0; i-- {
		if p := b.Items[i].Payload; p != nil {
			made = flow.TxnTime(p)
		}
	}
	a.srv.Stats.Applied(len(b.Items), txns, made)
}

// measureAll gives the requests of a batch to the stages, before their replies are handed to the sockets.
func (a *applier) measureAll(b *flow.ApplyBatch) {
	r := a.srv.Stages
	if r == nil || a.failed {
		return
	}
	now, oldest := a.srv.Clock.Now(), true
	for i := range b.Items {
		it := &b.Items[i]
		switch {
		case it.Client != nil:
			a.srv.measure(b, it, now, oldest)
			oldest = false
		case r.Traces():
			a.srv.measureRemote(b, it)
		}
	}
}

// applyOne applies one txn, under the write lock, and answers the client that asked for it. Events are sent before
// the reply. e is not nil if the txn ends a session in steps.
func (a *applier) applyOne(it *flow.Item, payload []byte, create2 []int32, e *end, now int64) {
	a.forgetEvent()
	var body []byte
	var applied datatree.Applied
	var err error
	if a.srv.audit != nil && it.Op == proto.OpCloseSession && e == nil {
		var h proto.TxnHeader
		if h.ReadFrom(payload) == nil && h.Type == proto.OpCloseSession {
			a.auditEnd(h.ClientID, func() {})
		}
	}
	switch {
	case e != nil && e.prepared:
		body, applied = a.body[:0], a.applyEnd(e)
	case len(create2) > 0:
		body, applied, err = a.srv.Store.State.ApplyCreate2(payload, a, a.body[:0], create2)
	default:
		body, applied, err = a.srv.Store.State.Apply(payload, a, a.body[:0], it.Client != nil)
	}
	if err != nil {
		// This server's Preparer, or the leader's, has written the payload, and it is durable. A server that went
		// on without it would diverge.
		a.failed = true
		a.srv.Fatal("applying a txn", err)
		return
	}
	a.body = body
	if a.srv.Config.DigestEnabled {
		a.srv.Digests.Note(applied.Header.Zxid, a.srv.Store.State.Digest())
	}
	if a.srv.OnApplied != nil {
		a.srv.OnApplied(applied.Header.Zxid, payload, a.srv.Store.State.Digest())
	}
	if applied.DigestMismatch {
		a.srv.Metrics.DigestMismatches.Inc()
		a.srv.Log.Error("tree digest differs from the one in the txn: the data of this server has diverged",
			zap.Stringer("zxid", applied.Header.Zxid), zap.Stringer("session_id", applied.Header.ClientID))
	}
	if it.Client != nil && !it.Became(&applied.Header) {
		// To answer with the result of another txn would be worse than to give no answer. The client sees that its
		// connection is lost, and that its request may have been applied.
		a.srv.Log.Error("applied txn does not match the request that waits for it: closing client connection",
			zap.Stringer("zxid", applied.Header.Zxid),
			zap.Stringer("session_id", applied.Header.ClientID), zap.Stringer("type", applied.Header.Type),
			zap.Int32("cxid", applied.Header.Cxid),
			zap.Stringer("request", it.Op), zap.Int32("xid", it.Xid),
			zap.Stringer("request_session_id", it.Session.ID))
		a.lose(it)
		it = &flow.Item{Op: applied.Header.Type}
	}
	switch it.Op {
	case proto.OpCreateSession:
		if it.Client != nil {
			a.established(it, applied.Header.Zxid)
		}
		return
	case proto.OpCloseSession:
		a.sessionEnded(it, applied.Header.ClientID)
	}
	if it.Client != nil {
		a.answer(it, applied.Header.Zxid, applied.Err, body, now)
	}
}

// lose ends the connection of a request that is not answered. One that has no session yet may ask for it again.
func (a *applier) lose(it *flow.Item) {
	c := connOf(it)
	if it.Op == proto.OpCreateSession { // it is in no queue
		a.srv.InProcess.Add(-1)
		if it.Drop {
			c.Unanswered()
			return
		}
	} else {
		c.mu.Lock()
		c.mu.out.dead = true // requests behind it are not answered either
		if log := a.srv.audit; log != nil && audit.Covers(it.Op) {
			_, subject := c.mu.queue.front()
			log.Lost(c.auditWho(), it.Op, subject)
		}
		a.advance(c, 0, 0)
		c.mu.Unlock()
	}
	a.freed = append(a.freed, c)
}

// answer appends the reply to the write at the head of the connection's queue, and runs the reads that waited
// behind it.
func (a *applier) answer(it *flow.Item, zxid proto.Zxid, err proto.ErrCode, body []byte, now int64) {
	c := connOf(it)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == proto.ErrSessionMoved { // another server owns the session: this connection must not go on
		c.mu.out.dead = true
		a.freed = append(a.freed, c)
	}
	if it.Op == proto.OpSync && err == proto.OK {
		body, err = a.syncBody(c)
	}
	reply := 0
	if c.mu.out.open() {
		start := len(c.mu.out.buf)
		b := beginReply(c.mu.out.buf)
		if err == proto.OK {
			b = append(b, body...)
		}
		endReply(b, start, it.Xid, zxid, err)
		reply = len(b) - start
		c.mu.stats.Responded(reply)
		c.mu.out.buf = b
		c.mu.stats.Answered(it.Op, it.Xid, zxid, it.Received, now)
		if err == proto.OK || it.Op == proto.OpMulti { // as ZooKeeper counts
			a.srv.Stats.Count(it.Op)
		}
		if it.Op == proto.OpCloseSession {
			c.mu.out.closing = true
		}
	}
	if log := a.srv.audit; log != nil && audit.Covers(it.Op) {
		_, subject := c.mu.queue.front()
		log.Answered(c.auditWho(), it.Op, subject, err, body)
	}
	a.advance(c, reply, now-it.Received)
}

// answerWithout answers a request that did not become a txn.
func (a *applier) answerWithout(it *flow.Item) {
	c := connOf(it)
	if it.Op == proto.OpCloseSession && it.Err == proto.OK && !it.Drop { // of a local session
		a.sessionEnded(it, it.Session.ID)
	}
	if c == nil {
		return
	}
	if it.Op == proto.OpCreateSession || it.Drop {
		a.lose(it)
	} else {
		a.answer(it, a.srv.Store.State.LastZxid(), it.Err, nil, it.Received)
	}
}

// syncBody is the body of the reply to the sync at the head of the connection's queue: its path. REQUIRES: Conn.mu.
func (a *applier) syncBody(c *Conn) ([]byte, proto.ErrCode) {
	var req proto.PathRequest
	if _, body := c.mu.queue.front(); req.ReadFrom(body) != nil {
		return nil, proto.ErrMarshallingError
	}
	a.body = proto.AppendBuffer(a.body[:0], req.Path)
	return a.body, proto.OK
}

// advance removes the write that was answered from the connection's queue. It runs the reads behind it, up to the
// next write, if that is little work; otherwise it leaves the rest to catchUp. The answer has reply bytes, 0 if there
// is none, and took so many ns. REQUIRES: Conn.mu, Store.Mu.
func (a *applier) advance(c *Conn, reply int, took int64) {
	e, _ := c.mu.queue.front()
	if e.kept != nil {
		c.recordWrite(&e, reply, took)
	}
	a.srv.budget.Release(e.weight)
	c.mu.queue.pop()
	a.srv.InProcess.Add(-1)
	before := c.mu.out.waiting()
	if c.runQueued(max(0, min(appliedShare, appliedMost-a.served))) {
		a.srv.InProcess.Add(-int64(c.mu.queue.leave()))
		c.help()
	}
	a.served += c.mu.out.waiting() - before
	c.wakeReader()
	a.mark(c)
}

// settle runs the reads that were left in front of a write that is applied next. If that was much work it releases
// the lock for a moment, so that readers do not wait for all such reads of the batch. REQUIRES: Store.Mu for
// writing.
func (a *applier) settle(c *Conn) {
	c.mu.Lock()
	if c.mu.queue.left.Load() {
		before := c.mu.out.waiting()
		c.runQueued(-1)
		c.mu.queue.left.Store(false)
		a.forced += c.mu.out.waiting() - before
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

// mark notes that c has output to be flushed. REQUIRES: Conn.mu.
func (a *applier) mark(c *Conn) {
	if !c.mu.dirty {
		c.mu.dirty = true
		a.dirty = append(a.dirty, c)
	}
}

// established tells the client that its session exists.
func (a *applier) established(it *flow.Item, zxid proto.Zxid) {
	a.srv.InProcess.Add(-1)
	c := connOf(it)
	resp := proto.ConnectResponse{
		TimeOut: it.Session.TimeoutMs(), SessionID: it.Session.ID,
		Password: a.srv.secrets.Password(it.Session.ID), HasReadOnly: c.knowsReadOnly,
		Extensions: c.extensions, Zxid: zxid,
	}
	c.Session.Store(it.Session)
	c.mu.Lock()
	open := c.mu.out.open()
	if open {
		c.mu.out.buf = appendConnectResponse(c.mu.out.buf, &resp)
		c.mu.stats.Replied(proto.OpCreateSession, 0, zxid)
		a.srv.Stats.Count(proto.OpCreateSession)
	}
	c.wakeReader()
	a.mark(c)
	c.mu.Unlock()
	if !open {
		a.srv.Tracker.Unbind(it.Session, c) // as in Resumed
	}
}

// sessionEnded forgets the session. The connection that serves it is closed: after the reply, if the client itself
// has closed the session.
func (a *applier) sessionEnded(it *flow.Item, id proto.SessionID) {
	c := a.srv.Tracker.Remove(id)
	if c != nil && c != it.Client {
		a.freed = append(a.freed, c)
	}
}

// Changed fires the watches on what a txn has changed. It implements datatree.Sink.
func (a *applier) Changed(ch datatree.Change) {
	a.zxid = ch.Zxid
	a.forgetEvent()
	a.srv.watchers.registry.Fire(ch, a.deliverFn)
	a.srv.Metrics.Fire(&a.fired)
	if _, isTTL := proto.TTLOf(ch.Owner); isTTL {
		a.srv.Metrics.TTL(ch.Type)
	}
}

// forgetEvent makes room for the next event. An event that connections share is not overwritten.
func (a *applier) forgetEvent() {
	if a.eventShared {
		a.event, a.eventShared = nil, false
	}
	a.event = a.event[:0]
}

// deliver adds one event to the output of one connection, unless the client may not read the znode.
func (a *applier) deliver(id watch.WatcherID, t proto.EventType, path []byte, acl datatree.ACLID) {
	a.fired.Add(t)
	c := a.srv.watchers.slots[id]
	if c == nil || !a.srv.Allows(acl, proto.PermRead, c.who()) {
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
	case c.mu.out.waiting() > c.srv.undelivered.mostOfOne, !c.countUndelivered():
		c.die() // at once: a reply or an event that came later would hide that this one was lost
		a.freed = append(a.freed, c)
	default:
		c.mu.out.addEvent(a.event, a.eventShared)
		c.mu.stats.EventSent(len(a.event))
		a.mark(c)
	}
}

// flush sends the output that the batch has added. It holds no lock meanwhile.
func (a *applier) flush() {
	for _, c := range a.freed {
		c.Abort()
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

// flushByHelpers shares very many connections among goroutines that outlive the batch. Two of them may meet on one
// connection; Conn.flush lets in one at a time.
func (a *applier) flushByHelpers() {
	for rest := a.dirty; len(rest) > 0; {
		n := min(len(rest), flushShare)
		share := append([]*Conn(nil), rest[:n]...)
		if !a.srv.Spawn("flush", func() { flushAll(share) }) {
			flushAll(share)
		}
		rest = rest[n:]
	}
}

// flushShare is how many connections one helper flushes.
const flushShare = 1024

func flushAll(conns []*Conn) {
	for _, c := range conns {
		c.mu.Lock()
		c.mu.dirty = false
		c.mu.Unlock()
		c.flush()
	}
}

// ApplyQueue leads from the host goroutine and the journal to the applier. It never blocks. What waits in it is
// bounded by the requests that may be in flight and, on a learner, by memberQueueMax of package host.
type ApplyQueue struct {
	srv   *Front
	Inbox *flow.Inbox[applyWork]
	// turn is held by the applier goroutine, or by the goroutine that applies in its place, while it does not wait.
	turn    sync.Mutex
	applier *applier
	works   []applyWork   // the last ones taken, for reuse; guarded by turn
	added   bool          // since the last Come; owned by the host goroutine
	long    bool          // what was added ends a session; owned by the host goroutine
	queued  *atomic.Int64 // bytes that wait to be applied
	// finished is the zxid up to which all txns are applied and answered: their payloads are not read any more.
	finished *atomic.Int64
}

// applyWork is a batch to be applied, or a function to be called in its place between batches.
type applyWork struct {
	batch *flow.ApplyBatch
	Call  func()
}

// NewApplyQueue returns an empty queue. The queue subtracts the bytes of each applied batch from queued, and stores
// the last zxid of the batch in finished.
func NewApplyQueue(srv *Front, queued, finished *atomic.Int64) *ApplyQueue {
	return &ApplyQueue{srv: srv, Inbox: flow.NewInbox[applyWork](srv.Runtime.Parker()), applier: newApplier(srv),
		queued: queued, finished: finished}
}

// Put queues a batch for the next Come. The host goroutine calls it.
func (q *ApplyQueue) Put(b *flow.ApplyBatch) {
	for i := range b.Items {
		q.long = q.long || b.Items[i].Op == proto.OpCloseSession
	}
	q.Inbox.Add(applyWork{batch: b})
	q.added = true
}

// Come lets the batches that were put be applied. In calm the caller applies them itself, unless another goroutine
// is applying already, or the end of a session is among them, which may take long. Otherwise the applier goroutine
// does.
func (q *ApplyQueue) Come(calm bool) {
	if !q.added {
		return
	}
	calm = calm && !q.long
	q.added, q.long = false, false
	if calm && q.turn.TryLock() {
		q.apply()
		q.turn.Unlock()
		if q.Inbox.Empty() {
			return
		}
	}
	q.Inbox.Signal()
}

// Do runs fn in the applier goroutine when everything queued before it is applied.
func (q *ApplyQueue) Do(fn func()) { q.Inbox.Put(applyWork{Call: fn}) }

// Close ends the applier when everything queued before is applied.
func (q *ApplyQueue) Close() { q.Inbox.Close() }

// Swap replaces the served state, in its place between batches. No client is served at that time.
func (q *ApplyQueue) Swap(state *datatree.State) {
	q.Do(func() {
		st := q.srv.Store
		st.Mu.Lock()
		st.State = state
		st.Logged.Store(int64(state.LastZxid()))
		st.Publish()
		st.Mu.Unlock()
		q.srv.Digests.Reset()
	})
}

// Run is the applier goroutine.
func (q *ApplyQueue) Run() {
	defer q.srv.Applied.Open()
	for closed := false; !closed; {
		q.Inbox.Wait()
		q.turn.Lock()
		closed = q.apply()
		q.turn.Unlock()
	}
}

// apply applies the batches that wait. REQUIRES: turn.
func (q *ApplyQueue) apply() (closed bool) {
	q.works, closed = q.Inbox.Take(q.works)
	for i := range q.works {
		if call := q.works[i].Call; call != nil {
			call()
			continue
		}
		b := q.works[i].batch
		q.applier.Apply(b)
		q.queued.Add(-b.Bytes)
		if b.Last > 0 {
			q.finished.Store(int64(b.Last))
		}
		q.srv.ApplyPool.Put(b)
	}
	if q.applier.reap() {
		q.Inbox.Put(applyWork{Call: func() {}}) // then the next part, after what has come meanwhile
	}
	return closed
}
