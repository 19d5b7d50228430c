package serve

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// reader handles the requests of one client: which locks the goroutine holds, and what waits to be submitted or to
// arrive.
//
// Invariant: mode says which locks the goroutine holds. While it waits for the client, for a turn or for room, it
// holds none.
type reader struct {
	feed
	arriving *arrival    // the long setWatches that has begun to arrive
	work     *flow.Batch // writes taken since the last submit
	mode     lockMode
	needs    need  // what a request that could not be taken waits for
	reads    int32 // executed under the present hold of Store.Mu
}

// lockMode is which locks the reader holds while it handles the frames of one read.
type lockMode uint8

const (
	lockNone  lockMode = iota
	lockQueue          // Conn.mu
	lockRead           // Store.Mu for reading, then Conn.mu
)

// need is what a request that cannot be taken yet waits for, besides room for its reply.
type need uint8

const (
	needRoom   need = iota
	needReads       // fewer reads before it
	needAlone       // no request of the connection in flight
	needBudget      // room for a large write
)

func newReader(c *Conn) *reader {
	r := &reader{feed: feed{srv: c.srv, c: c}}
	r.tryRead = r.tryOnce
	return r
}

// lockRead takes the locks for a read. REQUIRES: no lock.
func (r *reader) lockRead() {
	if !r.srv.Store.Mu.TryRLock() {
		began := r.srv.Clock.Now()
		r.srv.Store.Mu.RLock()
		r.tally.waited += r.srv.Clock.Now() - began
	}
	r.c.mu.Lock()
	r.mode, r.reads = lockRead, 0
}

// lockQueue takes or keeps Conn.mu, and releases Store.Mu: while a write is queued, reads are queued too.
func (r *reader) lockQueue() {
	switch r.mode {
	case lockNone:
		r.c.mu.Lock()
	case lockRead:
		r.srv.Store.Mu.RUnlock()
	}
	r.mode = lockQueue
}

// unlock releases what the reader holds.
func (r *reader) unlock() {
	switch r.mode {
	case lockQueue:
		r.c.mu.Unlock()
	case lockRead:
		r.c.mu.Unlock()
		r.srv.Store.Mu.RUnlock()
	}
	r.mode = lockNone
}

// alone releases what the reader holds, for a request that takes long, or waits for a disk. It returns false if the
// request has to wait first, until the connection's requests in flight are answered.
func (r *reader) alone() bool {
	r.lockQueue()
	if r.c.mu.queue.length() > 0 || r.c.pauses() {
		r.needs = needAlone
		return false
	}
	r.unlock()
	return true
}

// answer sends frame, a whole reply, behind everything that waits before it.
func (r *reader) answer(frame []byte, kind queuedKind) {
	r.lockQueue()
	m := &r.c.mu
	if m.queue.length() > 0 {
		m.queue.push(queued{kind: kind}, frame)
		r.srv.InProcess.Add(1)
		return
	}
	if !m.out.open() {
		return
	}
	m.out.buf = append(m.out.buf, frame...)
	m.stats.Sent++
	m.out.closing = kind == queuedEnd
}

// last sends frame in its order and ends the connection after it.
func (r *reader) last(frame []byte) {
	r.answer(frame, queuedEnd)
	r.ended = true
}

// mayAskFor ends the connection, and returns false, if the client has to authenticate first.
func (r *reader) mayAskFor(q *request) bool {
	if len(r.srv.enforced) > 0 && q.op != proto.OpAuth && q.op != proto.OpSasl && !r.srv.Suffices(r.c.who()) {
		r.last(appendHeaderReply(nil, q.xid, 0, proto.ErrSessionClosedRequireAuth))
		return false
	}
	return true
}
