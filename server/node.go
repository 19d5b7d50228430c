package server

import (
	"slices"
	"sync"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// node turns requests into txns. Its goroutine owns the Preparer and the zxid counter; it takes
// whatever has arrived while it was busy, prepares all of it under one hold of the read lock, and
// goes on gathering as long as the logger is busy with the batch before.
type node struct {
	srv      *Server
	preparer *datatree.Preparer
	last     proto.Zxid // newest zxid that was handed out
	inbox    *inbox[*batch]
	out      chan *logBatch   // to the logger
	req      datatree.Request // the one that is being prepared
	done     chan struct{}    // closed when the goroutine has ended
}

func newNode(srv *Server, preparer *datatree.Preparer, last proto.Zxid) *node {
	return &node{
		srv: srv, preparer: preparer, last: last, inbox: newInbox[*batch](),
		out: make(chan *logBatch), done: make(chan struct{}),
	}
}

// submit hands a batch over and reports false if the server has stopped. The node owns it then.
func (n *node) submit(b *batch) bool { return n.inbox.put(b) }

// run is the node goroutine. It ends when the inbox is closed and empty, and then closes out.
func (n *node) run() {
	defer close(n.done)
	defer close(n.out)
	var batches []*batch
	var closed bool
	prepared := 0 // of batches
	work := n.srv.logBatches.get()
	for !closed || prepared < len(batches) || !work.empty() {
		switch {
		case work.full():
			n.out <- work
			work = n.srv.logBatches.get()
			continue
		case prepared < len(batches) && batches[prepared].call != nil:
			if !work.empty() {
				n.out <- work
				work = n.srv.logBatches.get()
			}
			n.alone(batches[prepared].call)
			n.srv.batches.put(batches[prepared])
			prepared++
			continue
		case prepared < len(batches):
			prepared += n.prepare(work, batches[prepared:])
			continue
		case closed:
			n.out <- work
			work = n.srv.logBatches.get()
			continue
		case work.empty():
			<-n.inbox.wake
		default:
			select {
			case n.out <- work:
				work = n.srv.logBatches.get()
				continue
			case <-n.inbox.wake:
			}
		}
		batches, closed = n.inbox.take(batches)
		prepared = 0
	}
}

// prepare turns batches into txns and appends them to work until that is full. It returns how many
// batches it has finished, at least one: spans are 32 bits wide, and however much has arrived, what is
// written at once stays small.
func (n *node) prepare(work *logBatch, batches []*batch) (done int) {
	now := n.srv.clock.wallMs()
	diskFull := n.srv.guard.full()
	long := slices.ContainsFunc(batches, (*batch).heavy)
	if long {
		n.srv.store.long.Lock()
	}
	n.srv.store.mu.RLock()
	for done < len(batches) && !work.full() && batches[done].call == nil {
		b := batches[done]
		for i := range b.requests {
			n.prepareOne(work, b, &b.requests[i], now, diskFull)
		}
		done++
	}
	n.srv.store.mu.RUnlock()
	if long {
		n.srv.store.long.Unlock()
	}
	for _, b := range batches[:done] {
		n.srv.batches.put(b)
	}
	return done
}

// alone runs call while nothing is on its way to the log or to the state.
func (n *node) alone(call func(*node)) {
	passed := make(chan struct{})
	b := n.srv.logBatches.get()
	b.passed = passed
	n.out <- b
	<-passed
	call(n)
}

func (n *node) prepareOne(work *logBatch, b *batch, r *request, now int64, diskFull bool) {
	it := item{conn: r.conn, session: r.session, received: b.received, xid: r.xid, op: r.op}
	switch {
	case r.session != nil && r.session.closing.Load() && !(r.op == proto.OpCloseSession && r.conn == nil):
		// What a session sends after its end has begun is never answered. Source: server-semantics 7.4.
		it.drop = true
	case r.op == proto.OpSync: // it has its place between txns, and is none
	case diskFull && r.conn != nil && r.op != proto.OpCloseSession && r.op != proto.OpCreateSession:
		it.err = proto.ErrNotReadOnly
		n.srv.metrics.refusedDiskFull.Inc()
	case r.conn != nil && n.srv.waitedTooLong(r.op, b.received):
		it.err = proto.ErrThrottledOp
		n.srv.metrics.throttledOps.Inc()
	default:
		n.propose(work, b, r, now, &it)
	}
	if r.conn != nil && r.op != proto.OpCreateSession {
		n.srv.large.release(int(r.body.n) + proto.RequestHeaderSize)
	}
	work.items = append(work.items, it)
}

// waitedTooLong reports whether a client's request waited longer than throttled_op_wait_time allows.
func (s *Server) waitedTooLong(op proto.OpCode, received int64) bool {
	limit := s.cfg.ThrottledOpWaitTime
	return limit > 0 && op != proto.OpCloseSession && op != proto.OpCreateSession && s.clock.now()-received > int64(limit)
}

// propose prepares r as the next txn.
func (n *node) propose(work *logBatch, b *batch, r *request, now int64, it *item) {
	n.req = datatree.Request{Cxid: r.xid, Op: r.op, Body: r.body.of(b.buf), Identities: r.ids}
	if r.session != nil {
		n.req.Session = r.session.id
	}
	start := len(work.framed)
	framed := wal.BeginRecord(work.framed)
	payload := len(framed)
	framed, err, ok := n.preparer.Prepare(framed, &n.req, n.last+1, now)
	if !ok {
		work.framed, it.err = framed[:start], err
		return
	}
	n.last++
	it.payload = span{int32(payload), int32(len(framed) - payload)}
	work.framed = wal.EndRecord(framed, start)
	if create2 := n.preparer.Create2(); len(create2) > 0 {
		it.create2 = span{int32(len(work.create2)), int32(len(create2))}
		work.create2 = append(work.create2, create2...)
	}
	if work.txns == 0 {
		work.first = n.last
	}
	work.last = n.last
	work.txns++
	if r.op == proto.OpCloseSession && r.session != nil {
		r.session.closing.Store(true)
	}
}

// pool keeps values for reuse that are emptied when they are put back.
type pool[T interface{ reset() }] struct{ p sync.Pool }

func newPool[T interface{ reset() }](make func() T) *pool[T] {
	return &pool[T]{p: sync.Pool{New: func() any { return make() }}}
}

func (p *pool[T]) get() T { return p.p.Get().(T) }

func (p *pool[T]) put(v T) {
	v.reset()
	p.p.Put(v)
}
