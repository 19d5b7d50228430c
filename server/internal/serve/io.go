package serve

import (
	"encoding/binary"
	"io"
	"sync"
	"syscall"
	"time"
)

// Input is what a connection has received and not yet handled. Owned by the reader. While the socket is silent it
// has no buffer, so that an idle connection costs little memory.
type Input struct {
	Buf  []byte // [R:W] is unhandled
	R, W int
	Rest []byte // the beginning of a frame, kept while there is no buffer
	err  error  // of the last read, set by tryRead
	got  int64  // bytes read since the last countInput
}

// waited is the least duration of a read that counts as a wait for the client.
const waited = 100 * time.Microsecond

// InputBuffer is the size of one socket read.
const InputBuffer = 32 << 10

var inputBuffers = sync.Pool{New: func() any { return new([InputBuffer]byte) }}

// largeInput is the size of the buffers that are kept for large frames, those of more than half of this size. It is
// a little more than the default limit of a frame. Without these buffers, a client that sends many large frames
// would cause as much garbage.
const largeInput = 1<<20 + 4<<10

var largeInputs sync.Pool

// copiedAtOnce is how many bytes of a long frame are copied in one piece. The garbage collector cannot stop a
// goroutine while it copies, and all other goroutines wait until it can.
const copiedAtOnce = 256 << 10

// Fill waits for the socket and reads once. It returns io.EOF when the client has closed.
func (c *Conn) Fill() error {
	in := &c.In
	in.MakeRoom()
	if c.raw == nil {
		in.Acquire()
		began := c.srv.Clock.Now()
		n, err := c.NC.Read(in.Buf[in.W:])
		if c.srv.Clock.Now()-began > int64(waited) {
			c.idle()
		}
		c.arrived(n)
		if n > 0 {
			return nil
		}
		return err
	}
	in.err = nil
	if err := c.raw.Read(c.readFunc); err != nil {
		return err
	}
	return in.err
}

// tryRead is Conn.readFunc: it reads once, and reports false if the socket has nothing.
func (c *Conn) tryRead(fd uintptr) bool {
	in := &c.In
	in.Acquire()
	for {
		n, err := syscall.Read(int(fd), in.Buf[in.W:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			in.Release()
			c.passTurn()
			c.idle()
			return false
		case err != nil:
			in.err = err
		case n == 0:
			in.err = io.EOF
		default:
			c.arrived(n)
		}
		return true
	}
}

// arrived notes that n more bytes have arrived.
func (c *Conn) arrived(n int) {
	c.In.W += n
	c.In.got += int64(n)
	if c.unbroken += n; c.unbroken >= busyBytes {
		c.busy = true
	}
}

// countInput adds the bytes received since the last call to the server's figures.
func (c *Conn) countInput() {
	if c.In.got > 0 {
		c.srv.Stats.BytesIn.Add(c.In.got)
		c.In.got = 0
	}
}

// Acquire gets a buffer, with the rest of the last one in front.
func (in *Input) Acquire() {
	if in.Buf != nil {
		return
	}
	in.Buf = inputBuffers.Get().(*[InputBuffer]byte)[:]
	in.R, in.W = 0, copy(in.Buf, in.Rest)
	in.Rest = in.Rest[:0]
}

// Release gives the buffer back. It keeps a copy of the unhandled bytes, if they are few.
func (in *Input) Release() {
	if len(in.Buf) != InputBuffer || in.W-in.R > 1024 {
		return
	}
	if in.W == in.R {
		in.Rest = nil
	} else {
		in.Rest = append(in.Rest[:0], in.Buf[in.R:in.W]...)
	}
	in.giveBack()
	in.R, in.W = 0, 0
}

// MakeRoom moves the unhandled bytes to the front. If a frame is larger than the buffer, it grows the buffer to at
// most twice what has arrived, and not beyond the frame. So memory follows the received bytes, not the announced
// length, except for kept buffers.
func (in *Input) MakeRoom() {
	if in.Buf == nil {
		return
	}
	if in.R > 0 {
		in.W = copy(in.Buf, in.Buf[in.R:in.W])
		in.R = 0
	}
	if len(in.Buf) > InputBuffer && in.W <= InputBuffer/2 {
		small := inputBuffers.Get().(*[InputBuffer]byte)[:]
		copy(small, in.Buf[:in.W])
		in.giveBack()
		in.Buf = small
	}
	if in.W == len(in.Buf) {
		larger := in.larger()
		for off := 0; off < len(in.Buf); off += copiedAtOnce {
			copy(larger[off:], in.Buf[off:min(off+copiedAtOnce, len(in.Buf))])
		}
		in.giveBack()
		in.Buf = larger
	}
}

// larger returns a buffer for more than the content of the present one, which is full.
func (in *Input) larger() []byte {
	size := 2 * len(in.Buf)
	n, ok := in.PeekLength()
	frame := 4 + int64(n)
	if !ok || frame <= int64(len(in.Buf)) {
		return make([]byte, size)
	}
	if frame > largeInput/2 && frame <= largeInput {
		if kept, ok := largeInputs.Get().(*[largeInput]byte); ok {
			return kept[:]
		}
		if size >= largeInput/2 {
			return new([largeInput]byte)[:]
		}
	}
	return make([]byte, min(int64(size), frame))
}

// giveBack puts the buffer into the pool that it came from.
func (in *Input) giveBack() {
	switch len(in.Buf) {
	case InputBuffer:
		inputBuffers.Put((*[InputBuffer]byte)(in.Buf))
	case largeInput:
		largeInputs.Put((*[largeInput]byte)(in.Buf))
	}
	in.Buf = nil
}

// Bytes returns the unhandled bytes.
func (in *Input) Bytes() []byte { return in.Buf[in.R:in.W] }

// PeekLength returns the first word of the next frame.
func (in *Input) PeekLength() (uint32, bool) {
	if in.W-in.R < 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(in.Buf[in.R:]), true
}

// Drop forgets all bytes that were received.
func (in *Input) Drop() { in.R, in.W, in.Rest = 0, 0, nil }

// Free gives the buffer back at the end of the connection.
func (in *Input) Free() {
	in.Drop()
	in.giveBack()
}

// Output of one connection. A goroutine that adds to it flushes it afterwards, without holding a lock. Flush writes
// as much as the socket takes at once. Only if that is not everything, a goroutine of the connection (drain) waits
// for the socket. So neither the applier nor another client ever waits for a slow reader, and usually no goroutine
// has to be woken.

// Bounds of the output that waits for one client.
const (
	// OutputPause is how much may wait, with what is being written, before no further request of the connection is
	// served.
	OutputPause = 1 << 20
	// pressedPause takes the place of OutputPause while pressedMax waits for all clients together, not counting
	// pressedPause for each of them: many clients that read nothing must not hold OutputPause each.
	pressedPause = 64 << 10
	pressedMax   = 64 << 20
	// outputLimit is how much may wait before the connection is closed. Only watch events reach it, because they
	// are neither delayed nor dropped: the client has to reconnect and ask what it has missed.
	outputLimit = 256 << 20
	// UndeliveredMax is how much may wait for all clients together, not counting OutputPause for each of them.
	// Beyond it a connection is closed when more output waits for it. Replies larger than OutputPause, and watch
	// events, reach this bound.
	UndeliveredMax = 512 << 20
	// OutputChunk is the size of a buffer from which on no event is added to it: a new buffer costs less than a
	// copy of this one.
	OutputChunk = 256 << 10
	// SharedEvent is the size from which on all watching connections share one copy of an event.
	SharedEvent = 4 << 10
	// outputKept is the size of the largest buffer that a connection keeps for reuse.
	outputKept = 64 << 10
	// lingerTimeout is how long a connection that the server ends is still read, and the input dropped. Unread
	// input would turn the close into a reset, which could destroy the last reply.
	lingerTimeout = time.Second
)

// Output is the output of a connection that waits to be sent. Guarded by Conn.Mu.
type Output struct {
	// full are buffers that are not yet taken for writing. They do not change any more, and several connections may
	// share one.
	full    [][]byte
	Buf     []byte // not yet taken for writing, after full
	spare   []byte // the last written buffer, for reuse
	Writing bool   // a goroutine is in Flush or drain
	Closing bool   // end the connection when everything is written
	Dead    bool   // the socket is closed: output is dropped

	Handed   int64 // bytes that were handed to the socket, in whole buffers
	finished bool  // finish was called
	held     bool  // no request is taken, until Conn.Release
	parting  bool  // the connection ends as soon as nothing is owed
	deaf     bool  // a request that arrives has no effect

	fullBytes   int   // bytes in full
	Own         bool  // the buffer that is being written may be reused
	Taken       int   // length of the buffer that is being written
	undelivered int64 // of Buf, full and the taken buffer, as counted in Front.Undelivered
	pressing    int64 // the same, as counted in Front.pressing
}

// open reports whether more may be added: the connection is neither dead nor closing. REQUIRES: Conn.Mu.
func (o *Output) open() bool { return !o.Dead && !o.Closing }

// Waiting is how many bytes are not yet taken for writing. REQUIRES: Conn.Mu.
func (o *Output) Waiting() int { return o.fullBytes + len(o.Buf) }

// pauses reports whether no further request is served: so much waits, or the connection is held. What waits is written
// by another goroutine, which wakes the reader. REQUIRES: Conn.Mu.
func (c *Conn) pauses() bool {
	o := &c.Mu.Out
	n := o.Waiting() + o.Taken
	return n >= OutputPause || n >= pressedPause && c.srv.pressing.Load() >= pressedMax || o.held && o.open()
}

// AddEvent adds an event. The bytes of a shared event must not change any more. REQUIRES: Conn.Mu.
func (o *Output) AddEvent(event []byte, shared bool) {
	if shared {
		o.put(o.Buf)
		o.Buf = nil
		o.put(event)
		return
	}
	o.seal()
	o.Buf = append(o.Buf, event...)
}

// seal begins a new buffer if the present one is large. REQUIRES: Conn.Mu.
func (o *Output) seal() {
	if len(o.Buf) >= OutputChunk {
		o.put(o.Buf)
		o.Buf = make([]byte, 0, OutputChunk)
	}
}

// put adds a buffer that does not change any more. REQUIRES: Conn.Mu.
func (o *Output) put(b []byte) {
	if len(b) > 0 {
		o.full = append(o.full, b)
		o.fullBytes += len(b)
	}
}

// Next takes the buffer to be written next; empty if there is none. REQUIRES: Conn.Mu.
func (o *Output) Next() (b []byte) {
	if o.Own = len(o.full) == 0; o.Own {
		b, o.Buf, o.spare = o.Buf, o.spare[:0], nil
	} else {
		b, o.full[0] = o.full[0], nil
		o.full = o.full[1:]
		o.fullBytes -= len(b)
	}
	o.Taken = len(b)
	return b
}

// Flush writes the waiting output, as far as the socket takes it now.
func (c *Conn) Flush() {
	c.Mu.Lock()
	for !c.Mu.Out.Writing && !c.Mu.Out.Dead && !c.Mu.Out.finished {
		if c.Mu.Out.Waiting() == 0 {
			break
		}
		buf := c.Mu.Out.Next()
		c.Mu.Out.Writing = true
		c.srv.Stats.Publish(&c.Mu.stats)
		c.Mu.Unlock()
		n, err := c.writeNow(buf)
		if err != nil {
			c.Abort()
			return
		}
		if n < len(buf) {
			c.stuck.Store(c.raw != nil && c.Secure == nil)
			if !c.srv.Spawn("drain", func() { c.drain(buf[n:], buf) }) {
				c.Abort()
			}
			return
		}
		c.Mu.Lock()
		c.written(buf)
	}
	c.sent()
	c.Mu.Unlock()
}

// sent ends the connection, if it is to end, when nothing waits to be sent. REQUIRES: Conn.Mu.
func (c *Conn) sent() {
	o := &c.Mu.Out
	if o.parting && c.Mu.Queue.Len() == 0 {
		o.Closing = true
	}
	if o.Closing && !o.Writing && !o.Dead {
		c.finish()
	}
}

// written takes back a buffer after it was written. REQUIRES: Conn.Mu.
func (c *Conn) written(buf []byte) {
	c.Mu.Out.Writing, c.Mu.Out.Taken = false, 0
	c.Mu.Out.Handed += int64(len(buf))
	if len(c.Mu.followed) > 0 {
		c.handedOn()
	}
	_ = c.countUndelivered() // less output waits now
	if c.Mu.Out.Own && cap(buf) <= outputKept {
		c.Mu.Out.spare = buf[:0]
	}
	c.wakeReader()
	c.help()
}

// drain writes rest, the end of buf, and all output added meanwhile, as long as the client takes some of it within
// its timeout.
func (c *Conn) drain(rest, buf []byte) {
	for {
		for len(rest) > 0 {
			_ = c.NC.SetWriteDeadline(c.srv.Clock.In(c.writeTimeout()))
			n, err := c.NC.Write(c.portion(rest))
			rest = rest[n:]
			if err != nil && n == 0 {
				c.Abort()
				return
			}
		}
		_ = c.NC.SetWriteDeadline(time.Time{}) // an expired deadline would fail writeNow, too
		c.Mu.Lock()
		c.written(buf)
		if c.Mu.Out.Waiting() == 0 || c.Mu.Out.Dead {
			c.stuck.Store(false)
			c.sent()
			c.Mu.Unlock()
			return
		}
		buf = c.Mu.Out.Next()
		c.Mu.Out.Writing = true
		rest = buf
		c.Mu.Unlock()
	}
}

// writeNow writes without waiting and returns how many bytes the socket took. Only the goroutine that has set
// Writing may call it.
func (c *Conn) writeNow(b []byte) (int, error) {
	if c.raw == nil || c.Secure != nil {
		return 0, nil // not a plain socket: drain writes, and may wait
	}
	return c.now.WriteNow(c.raw, b)
}

// countUndelivered updates Undelivered. It reports false if the connection has to be closed: its client takes too
// little of a large output, while too much waits for all clients together. REQUIRES: Conn.Mu.
func (c *Conn) countUndelivered() bool {
	o := &c.Mu.Out
	waits := o.Waiting() + o.Taken
	if o.Dead {
		waits = 0
	}
	if presses := int64(max(0, waits-pressedPause)); presses != o.pressing {
		c.srv.pressing.Add(presses - o.pressing)
		o.pressing = presses
	}
	n := int64(max(0, waits-OutputPause))
	if n == o.undelivered {
		return true
	}
	total := c.srv.Undelivered.Add(n - o.undelivered)
	o.undelivered = n
	return n == 0 || total <= UndeliveredMax
}

// finish ends the connection so that written output still arrives: it closes the write side now. The read side is
// closed when the reader has seen the client's end, or its deadline. REQUIRES: Conn.Mu.
func (c *Conn) finish() {
	if c.Mu.Out.finished {
		return
	}
	c.Mu.Out.finished = true
	c.wakeReader()
	_ = c.NC.SetReadDeadline(c.srv.Clock.In(lingerTimeout))
	if t, ok := c.NC.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
		return
	}
	_ = c.NC.Close()
}

// Abort closes the socket at once. The reader notices it and cleans up.
func (c *Conn) Abort() {
	c.Mu.Lock()
	c.die()
	c.forget()
	c.wakeReader()
	c.Mu.Unlock()
	_ = c.NC.Close()
}

// die drops what waits to be sent, and lets nothing more be added. Abort must follow. REQUIRES: Conn.Mu.
func (c *Conn) die() {
	c.Mu.Out.Dead = true
	c.Mu.Out.full, c.Mu.Out.fullBytes, c.Mu.Out.Buf, c.Mu.Out.spare = nil, 0, nil, nil
	c.Mu.followed = nil      // their replies are not handed to a socket any more
	_ = c.countUndelivered() // no output waits now
}

// Supersede implements sessions.Conn.
func (c *Conn) Supersede() {
	c.superseded.Store(true)
	c.Abort()
}

// Shut ends the connection as soon as the output added so far is sent.
func (c *Conn) Shut() {
	c.Mu.Lock()
	c.shut()
	c.Mu.Unlock()
}

// shut is Shut. REQUIRES: Conn.Mu.
func (c *Conn) shut() {
	c.Mu.Out.Closing = true
	if !c.Mu.Out.Writing && c.Mu.Out.Waiting() == 0 && !c.Mu.Out.Dead {
		c.finish()
	}
}

// writeTimeout is how long a client may take nothing of its output.
func (c *Conn) writeTimeout() time.Duration {
	if s := c.Session.Load(); s != nil {
		return s.Timeout()
	}
	return c.srv.Config.SessionlessTimeout
}
