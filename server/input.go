package server

import (
	"encoding/binary"
	"io"
	"sync"
	"syscall"
	"time"
)

// input is what a connection has received and not yet handled. It is owned by the reader. While
// the socket is silent it holds no buffer, so that an idle connection costs little.
type input struct {
	buf  []byte // [r:w] is unhandled
	r, w int
	rest []byte // the start of a frame, kept while there is no buffer
	err  error  // of the last read, set by tryRead
	got  int64  // bytes read since the last account
}

// waited is how long a read takes at least that had to wait for the client.
const waited = 100 * time.Microsecond

// inputBuffer is the size of one socket read.
const inputBuffer = 32 << 10

var inputBuffers = sync.Pool{New: func() any { return new([inputBuffer]byte) }}

// largeInput is the size of the buffers that are kept for frames of more than half of that: of about as many bytes as a frame may have
// unless it is configured. Who sends many such frames would else make as much garbage.
const largeInput = 1<<20 + 4<<10

var largeInputs sync.Pool

// copiedAtOnce is how many bytes of a long frame are copied in one piece. The collector cannot stop a goroutine that copies, and when it
// wants to, everybody waits until it can.
const copiedAtOnce = 256 << 10

// fill waits for the socket and reads once. It returns io.EOF when the client has closed.
func (c *conn) fill() error {
	in := &c.in
	in.makeRoom()
	if c.raw == nil {
		in.acquire()
		began := c.srv.clock.now()
		n, err := c.nc.Read(in.buf[in.w:])
		if c.srv.clock.now()-began > int64(waited) {
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

// tryRead is c.readFunc: it reads once and reports false if the socket has nothing.
func (c *conn) tryRead(fd uintptr) bool {
	in := &c.in
	in.acquire()
	for {
		n, err := syscall.Read(int(fd), in.buf[in.w:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			in.release()
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

// arrived notes that n bytes more have come.
func (c *conn) arrived(n int) {
	c.in.w += n
	c.in.got += int64(n)
	if c.unbroken += n; c.unbroken >= busyBytes {
		c.busy = true
	}
}

// countInput adds what was received since the last call to the server's figures.
func (c *conn) countInput() {
	if c.in.got > 0 {
		c.srv.stats.BytesIn.Add(c.in.got)
		c.in.got = 0
	}
}

// acquire gets a buffer, with the rest of the last one in front.
func (in *input) acquire() {
	if in.buf != nil {
		return
	}
	in.buf = inputBuffers.Get().(*[inputBuffer]byte)[:]
	in.r, in.w = 0, copy(in.buf, in.rest)
	in.rest = in.rest[:0]
}

// release gives the buffer back, and keeps what is unhandled if that is little.
func (in *input) release() {
	if len(in.buf) != inputBuffer || in.w-in.r > 1024 {
		return
	}
	if in.w == in.r {
		in.rest = nil
	} else {
		in.rest = append(in.rest[:0], in.buf[in.r:in.w]...)
	}
	in.giveBack()
	in.r, in.w = 0, 0
}

// makeRoom moves what is unhandled to the front and, if a frame is larger than the buffer, grows
// the buffer to at most twice what has arrived, and to no more than the frame takes: memory follows the bytes, not the announced length,
// but for memory that is there already.
func (in *input) makeRoom() {
	if in.buf == nil {
		return
	}
	if in.r > 0 {
		in.w = copy(in.buf, in.buf[in.r:in.w])
		in.r = 0
	}
	if len(in.buf) > inputBuffer && in.w <= inputBuffer/2 {
		small := inputBuffers.Get().(*[inputBuffer]byte)[:]
		copy(small, in.buf[:in.w])
		in.giveBack()
		in.buf = small
	}
	if in.w == len(in.buf) {
		larger := in.larger()
		for off := 0; off < len(in.buf); off += copiedAtOnce {
			copy(larger[off:], in.buf[off:min(off+copiedAtOnce, len(in.buf))])
		}
		in.giveBack()
		in.buf = larger
	}
}

// larger returns a buffer for more than is in the present one, which is full.
func (in *input) larger() []byte {
	size := 2 * len(in.buf)
	n, ok := in.peekLength()
	frame := 4 + int64(n)
	if !ok || frame <= int64(len(in.buf)) {
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

// giveBack gives the buffer to whoever needs one next.
func (in *input) giveBack() {
	switch len(in.buf) {
	case inputBuffer:
		inputBuffers.Put((*[inputBuffer]byte)(in.buf))
	case largeInput:
		largeInputs.Put((*[largeInput]byte)(in.buf))
	}
	in.buf = nil
}

// bytes returns what is unhandled.
func (in *input) bytes() []byte { return in.buf[in.r:in.w] }

// peekLength returns the first word of the next frame.
func (in *input) peekLength() (uint32, bool) {
	if in.w-in.r < 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(in.buf[in.r:]), true
}

// drop forgets everything that was received.
func (in *input) drop() { in.r, in.w, in.rest = 0, 0, nil }

// free gives the buffer back at the end of the connection.
func (in *input) free() {
	in.drop()
	in.giveBack()
}
