package serve

import (
	"sync"
	"sync/atomic"
)

// Bounds of the output that waits for one client.
const (
	// outputPause is how much may wait, with what is being written, before no further request of the connection is
	// served.
	outputPause = 1 << 20
	// pressedPause takes the place of outputPause while pressedMax waits for all clients together, not counting
	// pressedPause for each of them: many clients that read nothing must not hold outputPause each.
	pressedPause = 64 << 10
	pressedMax   = 64 << 20
	// outputLimit is how much may wait before the connection is closed. Only watch events reach it, because they
	// are neither delayed nor dropped: the client has to reconnect and ask what it has missed. It is an eighth of the
	// memory of the process, if that is less.
	outputLimit = 256 << 20
	// undeliveredMax is how much may wait for all clients together, not counting outputPause for each of them.
	// Beyond it a connection is closed when more output waits for it. Replies larger than outputPause, and watch
	// events, reach this bound. It is a quarter of the memory of the process, if that is less.
	undeliveredMax = 512 << 20
	// outputChunk is the size of a buffer from which on no read and no event is added to it: a new buffer costs less
	// than to copy this one into a larger one.
	outputChunk = 64 << 10
	// sharedEvent is the size from which on all watching connections share one copy of an event.
	sharedEvent = 4 << 10
	// outputKept is the size of the largest buffer that a connection keeps for reuse.
	outputKept = 64 << 10
	// outputShared is the size of the largest buffer that is kept for the next connection that needs a large one.
	outputShared = 256 << 10
)

// largeBuffers has buffers between outputKept and outputShared, which no connection keeps: *[]byte.
var largeBuffers sync.Pool

// output is what waits to be sent to a client, and how far its connection has come to its end. Guarded by Conn.mu.
// Any goroutine may add a reply or an event. Only the goroutine that has set writing takes buffers from it.
//
// A connection ends in this order: open; closing, when nothing is added any more; finished, when everything is
// written and the write side of the socket is closed. Dead may come at any time; nothing is written after it.
//
// Invariant: a dead output is empty; what undelivered and pressing count is in the totals of the server.
type output struct {
	unsent
	writing  bool // a goroutine is in Flush or drain
	closing  bool // the connection ends when everything is written
	finished bool // finish was called
	dead     bool // the socket is closed: output is dropped
	held     bool // no request is taken, until Conn.Release
	endsIdle bool // the connection ends as soon as no request is in flight
	ignoring bool // a request that arrives has no effect

	undelivered int64 // bytes that wait beyond outputPause, as counted in undelivered.total
	pressing    int64 // bytes that wait beyond pressedPause, as counted in undelivered.pressing
}

// undelivered is how many bytes wait for clients that take less than they are sent, on one server.
type undelivered struct {
	total    atomic.Int64 // beyond outputPause for each client; see undeliveredMax
	pressing atomic.Int64 // beyond pressedPause for each client

	most      int64 // undeliveredMax, or less; never changes
	mostOfOne int   // outputLimit, or less; never changes
}

// bound sets the bounds for a process that may have so much memory.
func (u *undelivered) bound(memory int64) {
	u.most, u.mostOfOne = min(undeliveredMax, memory/4), int(min(outputLimit, memory/8))
}

// open reports whether more may be added: the connection is neither dead nor closing.
func (o *output) open() bool { return !o.dead && !o.closing }

// pauses reports whether no further request is served: so much waits, or the connection is held. What waits is written
// by another goroutine, which wakes the reader.
func (o *output) pauses(u *undelivered) bool {
	n := o.waiting() + o.taken
	return n >= outputPause || n >= pressedPause && u.pressing.Load() >= pressedMax || o.held && o.open()
}

// begin takes the next buffer for the caller to write; empty if there is none, or another goroutine writes.
func (o *output) begin() (buf []byte) {
	if o.writing || o.dead || o.finished || o.waiting() == 0 {
		return nil
	}
	o.writing = true
	return o.next()
}

// written takes back the buffer of begin.
func (o *output) written(buf []byte, u *undelivered) {
	o.writing = false
	o.takeBack(buf)
	_ = o.count(u) // less output waits now
}

// die drops what waits to be sent, and lets nothing more be added.
func (o *output) die(u *undelivered) {
	o.dead = true
	o.drop()
	_ = o.count(u) // no output waits now
}

// ends reports whether the connection is to be finished now: it is closing, and everything is written.
func (o *output) ends() bool { return o.closing && !o.writing && !o.dead }

// count updates the totals of the server. It reports false if the connection has to be closed: its client takes too
// little of a large output, while too much waits for all clients together.
func (o *output) count(u *undelivered) bool {
	waits := o.waiting() + o.taken
	if o.dead {
		waits = 0
	}
	if presses := int64(max(0, waits-pressedPause)); presses != o.pressing {
		u.pressing.Add(presses - o.pressing)
		o.pressing = presses
	}
	n := int64(max(0, waits-outputPause))
	if n == o.undelivered {
		return true
	}
	total := u.total.Add(n - o.undelivered)
	o.undelivered = n
	return n == 0 || total <= u.most
}

// unsent is a queue of bytes: what is added at its end is taken in buffers from its front. Buffers in full do not
// change any more, and several connections may share one.
type unsent struct {
	full      []buffer
	fullBytes int    // bytes in full
	buf       []byte // the end of the queue, to which replies are appended
	spare     []byte // the last written buffer, for reuse
	large     bool   // the last written buffer was too large for that: the next one will be, too
	taken     int    // length of the buffer that is being written
	own       bool   // that buffer may be reused
	handed    int64  // bytes that were handed to the socket, in whole buffers
}

// buffer is a buffer in unsent.full.
type buffer struct {
	bytes []byte
	own   bool // no one else has it
}

// waiting is how many bytes are not yet taken for writing.
func (q *unsent) waiting() int { return q.fullBytes + len(q.buf) }

// addEvent adds an event. The bytes of a shared event must not change any more.
func (q *unsent) addEvent(event []byte, shared bool) {
	if shared {
		q.put(q.buf, true)
		q.buf = nil
		q.put(event, false)
		return
	}
	q.startBuffer()
	q.buf = append(q.buf, event...)
}

// startBuffer begins a new buffer if the present one is large.
func (q *unsent) startBuffer() {
	if len(q.buf) >= outputChunk {
		q.put(q.buf, true)
		q.buf, q.large = nil, true
	}
	if q.large && cap(q.buf) == 0 {
		if b, ok := largeBuffers.Get().(*[]byte); ok {
			q.buf = *b
		} else {
			q.buf = make([]byte, 0, outputChunk)
		}
	}
}

// put adds a buffer that does not change any more, and is reused when it was written if no one else has it.
func (q *unsent) put(b []byte, own bool) {
	if len(b) > 0 {
		q.full = append(q.full, buffer{b, own})
		q.fullBytes += len(b)
	}
}

// next takes the buffer to be written next; empty if there is none.
func (q *unsent) next() (b []byte) {
	if len(q.full) == 0 {
		b, q.own, q.buf, q.spare = q.buf, true, q.spare[:0], nil
	} else {
		b, q.own = q.full[0].bytes, q.full[0].own
		q.full[0] = buffer{}
		q.full = q.full[1:]
		q.fullBytes -= len(b)
	}
	q.taken = len(b)
	return b
}

// takeBack takes back a buffer that was written.
func (q *unsent) takeBack(buf []byte) {
	q.taken = 0
	q.handed += int64(len(buf))
	if !q.own {
		return
	}
	q.large = len(buf) > outputKept
	switch {
	case cap(buf) <= outputKept:
		q.spare = buf[:0]
	case cap(buf) <= outputShared:
		buf = buf[:0]
		largeBuffers.Put(&buf)
	}
}

// drop forgets what waits.
func (q *unsent) drop() { q.full, q.fullBytes, q.buf, q.spare = nil, 0, nil, nil }
