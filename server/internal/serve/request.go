package serve

import (
	"errors"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
)

// readsPerLock is how many reads are executed before writers get the lock.
const readsPerLock = 256

// Errors that end a connection; they go to the log and nowhere else.
var (
	errUndelivered = errors.New("client reads its replies too slowly, and 512 MiB wait for such clients already")
	errLargeBudget = errors.New("large requests in flight exceed largeRequestMaxBytes")
)

// read executes a read, or queues it behind the connection's writes in flight. It returns false, without any
// effect, if the read has to wait.
func (r *reader) read(q *request) (done bool, err error) {
	m := &r.c.mu
	if r.mode == lockQueue && m.queue.length() == 0 {
		r.unlock()
	}
	if r.mode == lockNone {
		r.lockRead()
	}
	if m.out.ignoring {
		return true, nil
	}
	if m.queue.length() > 0 {
		if !m.queue.acceptsRead() || r.c.pauses() {
			return false, nil
		}
		e := queued{kind: queuedRead, xid: q.xid, op: q.op, expensive: expensive(q.op) || r.srv.mayList(q.op),
			at: r.received}
		m.queue.push(e, q.body)
		r.srv.InProcess.Add(1)
		return true, nil
	}
	if !m.out.open() {
		return true, nil
	}
	if r.c.pauses() {
		return false, nil
	}
	lists, long := r.srv.lists(q), expensive(q.op)
	if lists || long || r.tally.executed == 0 {
		r.tally.first = *q
	}
	switch {
	case lists:
		return r.executeListing(q)
	case long:
		return r.executeLong(q)
	}
	return r.executeNow(q)
}

// executeNow executes a read. REQUIRES: lockRead.
func (r *reader) executeNow(q *request) (done bool, err error) {
	if r.srv.Stages.Traces() && q.op != proto.OpPing && r.srv.Stages.Samples(r.c.sessionID(), q.xid) {
		r.c.sampledRead(q, r.received)
	} else {
		r.srv.execute(r.c, q)
	}
	r.tally.executed++
	if !r.c.countUndelivered() {
		return false, errUndelivered
	}
	if r.reads++; r.reads >= readsPerLock {
		r.unlock()
		r.workOn()
	}
	return true, nil
}

// executeLong executes a read that takes long. It does so in the connection's turn, and while it holds Store.Long, so
// that the applier does not wait for it in Store.Mu. REQUIRES: lockRead, and an empty queue.
func (r *reader) executeLong(q *request) (done bool, err error) {
	r.unlock()
	r.workOn()
	r.srv.Store.Long.Lock()
	r.lockRead()
	if r.c.mu.out.open() {
		done, err = r.executeNow(q)
	}
	r.unlock()
	r.srv.Store.Long.Unlock()
	return done, err
}

// executeListing executes a read of which lists is true, in the connection's turn. REQUIRES: lockRead, and an empty
// queue.
func (r *reader) executeListing(q *request) (done bool, err error) {
	r.unlock()
	r.passTurn()
	r.srv.Store.Listings.Lock()
	defer r.srv.Store.Listings.Unlock()
	r.workOn()
	began := r.srv.Clock.Now()
	l := r.c.collect(q.body, r.workOn)
	r.mode, r.reads = lockRead, 0
	defer r.unlock()
	switch {
	case !r.c.mu.out.open():
		return true, nil
	case l == nil:
		return r.executeNow(q)
	}
	r.c.answerListing(q, l, began)
	r.tally.executed++
	if !r.c.countUndelivered() {
		return false, errUndelivered
	}
	return true, nil
}

// write queues a write and adds it to the batch for the host goroutine. It returns false if the write has to wait
// until the client has taken some of its replies.
func (r *reader) write(q *request) (done bool, err error) {
	r.lockQueue()
	m, op, body := &r.c.mu, q.op, q.body
	weight := limits.Weight(op, body, r.c.idBytes)
	switch {
	case m.out.dead, (m.out.ignoring || !m.out.open()) && op != proto.OpCloseSession:
		r.srv.budget.Leave(r.c)
		return true, nil // it would not be answered: it must have no effect either
	case r.c.pauses():
		return false, nil
	case !m.queue.acceptsWrite():
		r.needs = needReads
		return false, nil
	case !r.srv.budget.Take(r.c, weight):
		r.needs = needBudget
		return false, nil
	case !r.srv.Large.Reserve(len(body) + proto.RequestHeaderSize):
		r.srv.budget.Release(weight)
		r.srv.Metrics.LargeRejected.Inc()
		return false, errLargeBudget
	}
	var kept []byte
	switch {
	case op == proto.OpSync:
		kept = body // the reply repeats it
	case r.srv.audit != nil:
		kept = audit.Subject(op, body)
	}
	e := queued{kind: queuedWrite, xid: q.xid, op: op, weight: weight}
	if m.sampler.Due() {
		e.kept = r.c.keepWrite(q)
	}
	m.queue.push(e, kept)
	if r.work == nil {
		r.work = r.srv.RequestPool.Get()
		r.work.Received = r.received
	}
	r.work.Add(flow.Request{Client: r.c, Session: r.c.Session.Load(), IDs: r.c.who(), Xid: q.xid, Op: op}, body)
	r.ended = op == proto.OpCloseSession
	return true, nil
}
