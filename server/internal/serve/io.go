package serve

import (
	"encoding/binary"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/seed94657493/warren/server/internal/socket"
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
		n, err := c.nc.Read(in.Buf[in.W:])
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
		n, err := socket.Read(fd, in.Buf[in.W:])
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
