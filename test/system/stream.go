package system

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// streamMax is how many bytes may be on their way or wait to be read in one direction before the writer has to wait,
// if a test does not say otherwise (network.room).
const streamMax = 64 << 10

// stream is one direction of a connection. What is written arrives in order, cut into pieces anywhere, each after a
// delay. While the way is cut it waits, with the end of the stream, as what TCP sends again.
type stream struct {
	s      *scheduler
	way    *way
	flying []piece
	last   time.Duration // when the last piece arrives, if the way is open
	ready  []byte        // arrived
	size   int           // of both, in bytes
	sealed bool          // the writer has closed
	ended  bool          // and that has arrived
	gone   bool          // the reader has closed
	reset  bool          // the connection is lost
	orphan bool          // the reader has died, and the writer has not heard of it
	since  time.Duration // when it has
	back   *stream       // the other direction
	held   time.Duration // since when a piece waits at a cut way, 0 if none does
	late   time.Duration // when a server wrote last that accepted no clients; 0 if none has

	reads, writes waiter
}

// piece is what arrives at once; the end of the stream if it is empty.
type piece []byte

// waiter is the task that waits at one end of a stream, and its deadline.
type waiter struct {
	wakes   []*parker // tasks that wait
	passed  bool      // the deadline
	pending func()    // cancels its timer
}

func (w *waiter) wake() {
	for _, k := range w.wakes {
		k.Unpark()
	}
	w.wakes = nil
}

// wait lets the running task of p wait for wake.
func (w *waiter) wait(p *process) {
	k := &parker{p: p}
	w.wakes = append(w.wakes, k)
	k.Park()
}

// by sets the deadline, a time on the wall clock of p; the zero time is none.
func (w *waiter) by(p *process, t time.Time) {
	if w.pending != nil {
		w.pending()
	}
	w.passed, w.pending = false, nil
	if t.IsZero() {
		return
	}
	d := t.Sub(p.Now())
	if d <= 0 {
		w.passed = true
		w.wake()
		return
	}
	w.pending = p.After(d, func() {
		w.passed = true
		w.wake()
	})
}

// write waits while as many bytes wait as there is room for.
func (st *stream) write(p *process, b []byte) (n int, err error) {
	for len(b) > 0 {
		room := min(st.way.net.room-st.size, len(b))
		switch {
		case st.sealed:
			return n, net.ErrClosed
		case st.reset:
			return n, syscall.ECONNRESET
		case st.gone && !st.way.cut && !st.back.way.cut: // the answer to what was written before comes back
			return n, syscall.EPIPE
		case st.writes.passed:
			return n, os.ErrDeadlineExceeded
		case room <= 0:
			st.writes.wait(p)
			continue
		}
		if room > 1 && st.s.chance(st.way.cuts) {
			room = 1 + st.s.rng.IntN(room-1)
		}
		st.send(append(piece(nil), b[:room]...))
		n += room
		b = b[room:]
	}
	return n, nil
}

// send puts a piece on its way.
func (st *stream) send(x piece) {
	st.size += len(x)
	st.flying = append(st.flying, x)
	st.last = max(st.last, st.s.now+st.way.delay(st.s))
	st.s.plan(st.last-st.s.now, nil, st.way.name, st.arrive)
}

// arrive lets the pieces be read whose time has come, unless the way is cut.
func (st *stream) arrive() {
	if st.way.cut {
		if st.held == 0 {
			st.held = st.s.now
		}
		st.way.held = append(st.way.held, st)
		return
	}
	st.held = 0
	if len(st.flying) == 0 {
		return
	}
	if st.orphan {
		st.flying = st.flying[1:]
		if st.way.net.hosts[st.way.to] != nil { // what is there knows nothing of the connection
			st.lose()
			st.back.lose()
		}
		return
	}
	x := st.flying[0]
	st.flying = st.flying[1:]
	st.s.bytes(x)
	st.ready = append(st.ready, x...)
	st.ended = st.ended || len(x) == 0
	st.reads.wake()
}

// read waits until there is something to read or the stream has ended.
func (st *stream) read(p *process, b []byte) (int, error) {
	for {
		switch {
		case st.gone:
			return 0, net.ErrClosed
		case st.reads.passed:
			return 0, os.ErrDeadlineExceeded
		case st.reset:
			return 0, syscall.ECONNRESET
		case len(st.ready) > 0:
			n := copy(b, st.ready)
			if n > 1 && st.s.chance(st.way.cuts) {
				n = 1 + st.s.rng.IntN(n)
			}
			n = min(n, len(b), len(st.ready))
			st.ready = st.ready[n:]
			st.size -= n
			st.writes.wake()
			return n, nil
		case st.ended:
			return 0, io.EOF
		}
		st.reads.wait(p)
	}
}

// seal is the end of what is written.
func (st *stream) seal() {
	if !st.sealed {
		st.sealed = true
		st.send(nil)
		st.writes.wake()
	}
}

// leave is the end of reading.
func (st *stream) leave() {
	st.gone = true
	st.ready, st.size = nil, 0
	st.reads.wake()
	st.writes.wake()
}

// lose ends the stream with what is on its way.
func (st *stream) lose() {
	st.reset, st.flying, st.ready = true, nil, nil
	st.reads.wake()
	st.writes.wake()
}

// conn is one end of a connection. It implements net.Conn.
type conn struct {
	p             *process
	in, out       *stream
	local, remote net.Addr
}

var _ net.Conn = (*conn)(nil)

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) { return c.in.read(c.p, b) }

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if c.p.serves != nil && !c.p.serves() {
		c.out.late = c.out.s.now
	}
	return c.out.write(c.p, b)
}

// CloseWrite ends what is written, as that of net.TCPConn.
func (c *conn) CloseWrite() error {
	c.out.seal()
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.in.reads.by(c.p, time.Time{})
	c.out.writes.by(c.p, time.Time{})
	c.out.seal()
	c.in.leave()
	return nil
}

// deafAfter is when TCP has repeated bytes twice: 0.6 s in reality, where ticks are twenty times as long.
const deafAfter = 100 * time.Millisecond

// Deaf reports whether what is written gets lost while what the other side writes arrives. Links ask for it.
func (c *conn) Deaf() bool {
	return c.out.way.cut && !c.in.way.cut && c.out.held != 0 && c.out.s.now-c.out.held >= deafAfter
}

// probedAfter is when TCP begins to ask a silent side whether it is there: 1 s in reality.
const probedAfter = 50 * time.Millisecond

// Unacknowledged returns for how long nothing that is written can have arrived at the other side, or its answer here.
// Links ask for it.
func (c *conn) Unacknowledged() time.Duration {
	now := c.out.s.now
	since := now
	for _, w := range [...]*way{c.out.way, c.in.way} {
		if w.cut {
			since = min(since, w.since)
		}
	}
	if c.out.orphan && c.out.way.net.hosts[c.out.way.to] == nil {
		since = min(since, c.out.since)
	}
	if now-since < probedAfter {
		return 0
	}
	return now - since
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.in.reads.by(c.p, t)
	c.out.writes.by(c.p, t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.reads.by(c.p, t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.writes.by(c.p, t)
	return nil
}
