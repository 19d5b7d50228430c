package serve

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// input is what a connection has received and not yet handled, cut into frames. Owned by the reader, which reads from
// the socket into room.
//
// Invariant: while the socket is silent there is no buffer, so that an idle connection costs little memory. Memory
// follows the bytes that have arrived, not the length that a client announces.
type input struct {
	buf  []byte // [r:w] is unhandled
	r, w int
	rest []byte // the beginning of a frame, kept while there is no buffer
	err  error  // of the last read
}

// request is what a client asks for. The body is valid until the input of its connection changes.
type request struct {
	op   proto.OpCode
	xid  int32
	body []byte
}

// frame is a request that has arrived, or the beginning of a long setWatches.
type frame struct {
	request
	size int  // in bytes, without the length in front of it
	long bool // it is handled while it arrives, and has no body: see arrival
}

const (
	// silence is the least duration of a read that counts as a wait for the client.
	silence = 100 * time.Microsecond
	// inputBuffer is the size of one socket read.
	inputBuffer = 32 << 10
	// largeInput is the size of the buffers that are kept for large frames, those of more than half of this size. It
	// is a little more than the default limit of a frame. Without these buffers, a client that sends many large frames
	// would cause as much garbage.
	largeInput = 1<<20 + 4<<10
	// copiedAtOnce is how many bytes of a long frame are copied in one piece. The garbage collector cannot stop a
	// goroutine while it copies, and all other goroutines wait until it can.
	copiedAtOnce = 256 << 10
	// setWatchesLimit is the longest frame of setWatches and setWatches2, in bytes.
	setWatchesLimit = 64 << 20
	// longSetWatches is the length of a setWatches, in bytes, above which it is registered while it arrives.
	longSetWatches = 8 << 10
)

// Errors that end a connection; they go to the log and nowhere else.
var (
	errFrameLength = errors.New("frame length is negative or above jute.maxbuffer")
	errShortFrame  = errors.New("frame is shorter than a request header")
	errInputs      = errors.New("large requests that have arrived in part take a quarter of the memory already")
)

// inputs is how much the large buffers of the inputs of all connections take: those above inputBuffer. Without a
// bound, clients that send most of a large request, and not the rest, would fill the memory, without a password.
type inputs struct {
	total atomic.Int64 // bytes
	// most is the total above which a connection is closed when its buffer grows, unless it is the only one. It never
	// changes.
	most int64
}

var (
	inputBuffers = sync.Pool{New: func() any { return new([inputBuffer]byte) }}
	largeInputs  sync.Pool
)

// next finds the next frame, of at most limit bytes. Where watches is true, it may be a long setWatches, for which the
// limit is setWatchesLimit: after a reconnect a client sends the lists of its watches. found is false if too little
// has arrived. An error ends the connection.
func (in *input) next(limit int, watches bool) (f frame, found bool, err error) {
	n, ok := in.peekLength()
	if !ok {
		return f, false, nil
	}
	watches = watches && n > longSetWatches
	if int64(n) > int64(limit) && !(watches && n <= setWatchesLimit) {
		return f, false, errFrameLength
	}
	f.size = int(n)
	b := in.bytes()[4:]
	switch {
	case f.size < proto.RequestHeaderSize && len(b) >= f.size:
		return f, false, errShortFrame
	case len(b) < proto.RequestHeaderSize:
		return f, false, nil
	}
	f.xid, f.op = int32(binary.BigEndian.Uint32(b)), proto.OpCode(binary.BigEndian.Uint32(b[4:]))
	f.long = watches && (f.op == proto.OpSetWatches || f.op == proto.OpSetWatches2)
	switch {
	case f.long:
		return f, true, nil
	case f.size > limit:
		return f, false, errFrameLength
	case len(b) < f.size:
		return f, false, nil
	}
	f.body = b[proto.RequestHeaderSize:f.size]
	return f, true, nil
}

// room returns the part of the buffer into which more may be read. It gets a buffer if there is none, with the rest of
// the last one in front.
func (in *input) room() []byte {
	if in.buf == nil {
		in.buf = inputBuffers.Get().(*[inputBuffer]byte)[:]
		in.r, in.w = 0, copy(in.buf, in.rest)
		in.rest = in.rest[:0]
	}
	return in.buf[in.w:]
}

// release gives the buffer back. It keeps a copy of the unhandled bytes, if they are few.
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

// makeRoom moves the unhandled bytes to the front. If a frame is larger than the buffer, it grows the buffer to at
// most twice what has arrived, and not beyond the frame, except for kept buffers.
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

// larger returns a buffer for more than the content of the present one, which is full.
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

// giveBack puts the buffer into the pool that it came from.
func (in *input) giveBack() {
	switch len(in.buf) {
	case inputBuffer:
		inputBuffers.Put((*[inputBuffer]byte)(in.buf))
	case largeInput:
		largeInputs.Put((*[largeInput]byte)(in.buf))
	}
	in.buf = nil
}

func (in *input) bytes() []byte { return in.buf[in.r:in.w] }

// skip drops the first n unhandled bytes.
func (in *input) skip(n int) { in.r += n }

// peekLength returns the first word of the next frame.
func (in *input) peekLength() (uint32, bool) {
	if in.w-in.r < 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(in.buf[in.r:]), true
}

// drop forgets all bytes that were received.
func (in *input) drop() { in.r, in.w, in.rest = 0, 0, nil }

// free gives the buffer back at the end of the connection.
func (in *input) free() {
	in.drop()
	in.giveBack()
}
