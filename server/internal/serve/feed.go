package serve

import (
	"errors"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/figures"
)

// feed is what one client sends, as it arrives at the socket: the input, the turns and rates at which it is handled,
// and what is counted of it. It belongs to the goroutine that reads from the client, first in a greeting, then in a
// reader, and reaches what it shares with other goroutines through c.
type feed struct {
	srv      *Front
	c        *Conn
	in       input
	pace     pacer
	tally    tally
	received int64                 // time of the last read of the socket, ns on the server's clock
	tryRead  func(fd uintptr) bool // tryOnce, made once for each connection
	ended    bool                  // no request follows: further input is dropped
	large    int64                 // size of the buffer of in if it is above inputBuffer, as counted in Front.inputs
}

// fill waits for the socket and reads once. It returns io.EOF when the client has closed.
func (f *feed) fill() error {
	f.in.makeRoom()
	if !f.countInputBuffer() {
		f.srv.Log.Warn("closing connection", zap.Stringer("client_addr", f.c.Remote), zap.Error(errInputs))
		return errInputs
	}
	if f.c.raw == nil {
		began := f.srv.Clock.Now()
		n, err := f.c.nc.Read(f.in.room())
		if f.srv.Clock.Now()-began > int64(silence) {
			f.pace.idle()
		}
		f.arrived(n)
		if n > 0 {
			return nil
		}
		return err
	}
	f.in.err = nil
	if err := f.c.raw.Read(f.tryRead); err != nil {
		return err
	}
	return f.in.err
}

// countInputBuffer counts the buffer of the input after it may have changed. It reports false if the connection has to
// be closed: the buffer has grown, and those of all connections take too much.
func (f *feed) countInputBuffer() bool {
	size := int64(0)
	if len(f.in.buf) > inputBuffer {
		size = int64(len(f.in.buf))
	}
	grown := size - f.large
	if grown == 0 {
		return true
	}
	f.large = size
	total := f.srv.inputs.total.Add(grown)
	return grown < 0 || total <= f.srv.inputs.most || total == size
}

// tryOnce reads once, and reports false if the socket has nothing.
func (f *feed) tryOnce(fd uintptr) bool {
	n, err := f.c.readNow(fd, f.in.room())
	switch {
	case n > 0: // TLS returns an error again at the next read
		f.arrived(n)
	case err == nil, errors.Is(err, syscall.EAGAIN):
		f.in.release()
		f.passTurn()
		f.pace.idle()
		return false
	default:
		f.in.err = err
	}
	return true
}

// arrived notes that n more bytes have arrived.
func (f *feed) arrived(n int) {
	f.in.w += n
	f.tally.bytes += int64(n)
	f.pace.arrived(n)
}

// discardInput reads and drops what the client still sends after its connection was ended, until the client closes or
// lingerTimeout has passed.
func (f *feed) discardInput() {
	for err := error(nil); err == nil; err = f.fill() {
		f.in.drop()
	}
}

// takeTurn waits for a turn if the connection is busy and has none. A connection that has its turn waits for nothing
// but locks. REQUIRES: no lock.
func (f *feed) takeTurn() {
	if f.pace.wantsTurn() {
		f.srv.turns.Take()
	}
	f.pace.began = f.srv.Clock.Now()
}

// passTurn ends the connection's turn, if it has one.
func (f *feed) passTurn() {
	if f.pace.endsTurn() {
		f.srv.turns.Pass()
	}
}

// workOn lets other connections have their turn, and then goes on. REQUIRES: no lock.
func (f *feed) workOn() {
	f.pace.busy = true
	f.passTurn()
	f.takeTurn()
}

// mayAsk reports whether the next request may be handled now, according to warren.maxRequestsPerSecond. If not,
// waitDue waits until it may.
func (f *feed) mayAsk() bool {
	limit := f.srv.Config.MaxRequestsPerSecond
	if limit <= 0 || f.c.address == nil {
		return true
	}
	return f.pace.mayAsk(f.srv.Clock.Now(), &f.c.address.rate, limit)
}

// absence is how long a client that has gone before it had a session is taken to be waiting.
const absence = 100 * time.Millisecond

// waitDue waits until mayAsk allows the next request, and returns false when the server stops, or when a client that
// has no session yet has gone: it would hold up those that come after it from its address.
func (f *feed) waitDue() bool {
	wait := f.pace.wait(f.srv.Clock.Now())
	if wait > 0 {
		f.srv.Metrics.RateWaits.Inc()
	}
	for ; wait > 0; wait = f.pace.wait(f.srv.Clock.Now()) {
		if f.srv.Stopping.WaitFor(min(wait, absence)) || f.c.Session.Load() == nil && hungUp(f.c.raw) {
			return false
		}
	}
	return true
}

// wait blocks the goroutine until ready returns true. ready is called under Conn.mu. wait returns false if the
// connection is dead. A goroutine that changes an input of ready calls wakeReader.
func (f *feed) wait(ready func() bool) bool {
	m := &f.c.mu
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
		f.c.resume.Park()
	}
}

// account adds the received frames to the statistics, and keeps the session alive. A client that was silent for longer
// than its timeout is not answered: its session may have ended. It connects again, and is told.
func (f *feed) account() {
	t := &f.tally
	if t.packets == 0 {
		return
	}
	// The session is touched with the present time, not the time of the socket read. Between the two the process
	// may have been suspended and every session postponed.
	now := f.srv.Clock.Now()
	inTime := f.srv.MayAnswer()
	if s := f.c.Session.Load(); s != nil {
		inTime = s.Touch(now) && (inTime || now <= f.srv.AnswersUntil(s.Timeout()))
	}
	if !inTime {
		f.c.Abort()
	}
	f.srv.Stats.Received.Add(t.packets)
	f.countInput()
	f.srv.Stats.ReadLatency.ObserveN(figures.Ms(now-f.received), t.executed)
	f.c.mu.Lock()
	f.c.mu.stats.Account(t.packets, t.executed, now-f.received, now)
	f.c.measureReads(t, f.received, now)
	f.c.mu.Unlock()
	t.next()
}

// countInput adds the bytes received since the last call to the server's figures.
func (f *feed) countInput() {
	if f.tally.bytes > 0 {
		f.srv.Stats.BytesIn.Add(f.tally.bytes)
		f.tally.bytes = 0
	}
}

// cleanup ends the connection. Only requests in flight remain.
func (f *feed) cleanup() {
	f.passTurn()
	f.c.Abort()
	f.srv.budget.Leave(f.c)
	if limit := f.srv.Config.MaxRequestsPerSecond; limit > 0 && f.c.address != nil {
		f.pace.leave(&f.c.address.rate, limit)
	}
	f.countInput()
	f.in.free()
	_ = f.countInputBuffer() // there is none now
	f.srv.watchers.removeAll(f.c)
	if s := f.c.Session.Load(); s != nil {
		f.srv.Tracker.Unbind(s, f.c)
	}
	f.srv.Conns.remove(f.c)
	f.c.mu.Lock()
	f.srv.Stats.Sent.Add(f.c.mu.stats.Sent)
	f.c.mu.Unlock()
}
