package serve

import (
	"errors"
	"syscall"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
)

// reader is the goroutine that reads and handles what one client sends: its state, which nobody else touches, and
// its steps. It reaches what it shares with other goroutines through c.
//
// Invariant: mode says which locks the goroutine holds. While it waits for the client, for a turn or for room, it
// holds none.
type reader struct {
	srv      *Front
	c        *Conn
	in       input
	pace     pacer
	tally    tally
	arriving *arrival              // the long setWatches that has begun to arrive
	work     *flow.Batch           // writes taken since the last submit
	received int64                 // time of the last read of the socket, ns on the server's clock
	tryRead  func(fd uintptr) bool // tryOnce, made once for each connection
	mode     lockMode
	needs    need  // what a request that could not be taken waits for
	ended    bool  // no request follows: further input is dropped
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
	r := &reader{srv: c.srv, c: c}
	r.tryRead = r.tryOnce
	return r
}

// fill waits for the socket and reads once. It returns io.EOF when the client has closed.
func (r *reader) fill() error {
	r.in.makeRoom()
	if r.c.raw == nil {
		began := r.srv.Clock.Now()
		n, err := r.c.nc.Read(r.in.room())
		if r.srv.Clock.Now()-began > int64(silence) {
			r.pace.idle()
		}
		r.arrived(n)
		if n > 0 {
			return nil
		}
		return err
	}
	r.in.err = nil
	if err := r.c.raw.Read(r.tryRead); err != nil {
		return err
	}
	return r.in.err
}

// tryOnce reads once, and reports false if the socket has nothing.
func (r *reader) tryOnce(fd uintptr) bool {
	n, err := r.c.readNow(fd, r.in.room())
	switch {
	case n > 0: // TLS returns an error again at the next read
		r.arrived(n)
	case err == nil, errors.Is(err, syscall.EAGAIN):
		r.in.release()
		r.passTurn()
		r.pace.idle()
		return false
	default:
		r.in.err = err
	}
	return true
}

// arrived notes that n more bytes have arrived.
func (r *reader) arrived(n int) {
	r.in.w += n
	r.tally.bytes += int64(n)
	r.pace.arrived(n)
}

// discardInput reads and drops what the client still sends after its connection was ended, until the client closes or
// lingerTimeout has passed.
func (r *reader) discardInput() {
	for err := error(nil); err == nil; err = r.fill() {
		r.in.drop()
	}
}

// takeTurn waits for a turn if the connection is busy and has none. A connection that has its turn waits for nothing
// but locks. REQUIRES: no lock.
func (r *reader) takeTurn() {
	if r.pace.wantsTurn() {
		r.srv.turns.Take()
	}
	r.pace.began = r.srv.Clock.Now()
}

// passTurn ends the connection's turn, if it has one.
func (r *reader) passTurn() {
	if r.pace.endsTurn() {
		r.srv.turns.Pass()
	}
}

// workOn lets other connections have their turn, and then goes on. REQUIRES: no lock.
func (r *reader) workOn() {
	r.pace.busy = true
	r.passTurn()
	r.takeTurn()
}

// mayAsk reports whether the next request may be handled now, according to warren.maxRequestsPerSecond. If not,
// waitDue waits until it may.
func (r *reader) mayAsk() bool {
	limit := r.srv.Config.MaxRequestsPerSecond
	if limit <= 0 || r.c.address == nil {
		return true
	}
	return r.pace.mayAsk(r.srv.Clock.Now(), &r.c.address.rate, limit)
}

// waitDue waits until mayAsk allows the next request, and returns false when the server stops.
func (r *reader) waitDue() bool {
	wait := r.pace.wait(r.srv.Clock.Now())
	if wait <= 0 {
		return true
	}
	r.srv.Metrics.RateWaits.Inc()
	return !r.srv.Stopping.WaitFor(wait)
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

// wait blocks the reader until ready returns true. ready is called under Conn.mu. wait returns false if the
// connection is dead. A goroutine that changes an input of ready calls wakeReader.
func (r *reader) wait(ready func() bool) bool {
	m := &r.c.mu
	for {
		m.Lock()
		if m.out.dead {
			m.Unlock()
			return false
		}
		ok := ready()
		m.reader.waits = !ok
		m.Unlock()
		if ok {
			return true
		}
		r.c.resume.Park()
	}
}

// account adds the received frames to the statistics, and keeps the session alive. A client that was silent for longer
// than its timeout is not answered: its session may have ended. It connects again, and is told.
func (r *reader) account() {
	t := &r.tally
	if t.packets == 0 {
		return
	}
	// The session is touched with the present time, not the time of the socket read. Between the two the process
	// may have been suspended and every session postponed.
	now := r.srv.Clock.Now()
	inTime := true
	if s := r.c.Session.Load(); s != nil {
		inTime = s.Touch(now)
	}
	if !inTime || now > r.srv.LeaseEnd.Load() {
		r.c.Abort()
	}
	r.srv.Stats.Received.Add(t.packets)
	r.countInput()
	r.srv.Stats.ReadLatency.ObserveN(figures.Ms(now-r.received), t.executed)
	r.c.mu.Lock()
	r.c.mu.stats.Account(t.packets, t.executed, now-r.received, now)
	r.c.measureReads(t, r.received, now)
	r.c.mu.Unlock()
	t.next()
}

// countInput adds the bytes received since the last call to the server's figures.
func (r *reader) countInput() {
	if r.tally.bytes > 0 {
		r.srv.Stats.BytesIn.Add(r.tally.bytes)
		r.tally.bytes = 0
	}
}

// cleanup ends the connection. Only requests in flight remain.
func (r *reader) cleanup() {
	r.passTurn()
	r.c.Abort()
	r.srv.budget.Leave(r.c)
	r.countInput()
	r.in.free()
	r.srv.watchers.removeAll(r.c)
	if s := r.c.Session.Load(); s != nil {
		r.srv.Tracker.Unbind(s, r.c)
	}
	r.srv.Conns.remove(r.c)
	r.c.mu.Lock()
	r.srv.Stats.Sent.Add(r.c.mu.stats.Sent)
	r.c.mu.Unlock()
}
