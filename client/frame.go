package client

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/seed94657493/warren/proto"
)

const (
	inputBytes     = 32 << 10 // buffer of a connection without large replies
	inputBytesKept = 1 << 20  // a larger buffer is dropped once it is empty
)

// frames cuts a stream into frames. The length of a frame is not trusted: the buffer grows with the bytes that
// arrive.
type frames struct {
	src  io.Reader
	max  int // largest frame
	buf  []byte
	r, w int // unread bytes are buf[r:w]
}

func newFrames(src io.Reader, max int) frames {
	return frames{src: src, max: max, buf: make([]byte, inputBytes)}
}

// next returns the next frame without its length. It is valid until the next call.
func (f *frames) next() ([]byte, error) {
	if err := f.need(4); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(f.buf[f.r:])))
	if n < 0 || n > f.max {
		return nil, fmt.Errorf("%w: frame of %d bytes, the limit is %d", ErrProtocol, n, f.max)
	}
	if err := f.need(4 + n); err != nil {
		return nil, err
	}
	frame := f.buf[f.r+4 : f.r+4+n]
	f.r += 4 + n
	return frame, nil
}

// need reads until n unread bytes are buffered.
func (f *frames) need(n int) error {
	for f.w-f.r < n {
		if f.r == f.w {
			f.r, f.w = 0, 0
			if len(f.buf) > inputBytesKept {
				f.buf = make([]byte, inputBytes)
			}
		}
		if f.r > 0 && f.r+n > len(f.buf) {
			f.w = copy(f.buf, f.buf[f.r:f.w])
			f.r = 0
		}
		if f.w == len(f.buf) {
			bigger := make([]byte, min(2*len(f.buf), max(n, len(f.buf)+1)))
			copy(bigger, f.buf[f.r:f.w])
			f.buf, f.w, f.r = bigger, f.w-f.r, 0
		}
		k, err := f.src.Read(f.buf[f.w:])
		f.w += k
		if err != nil && f.w-f.r < n {
			if err == io.EOF && f.w > f.r {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// beginFrame leaves room for the length of a frame; endFrame fills it in.
func beginFrame(b []byte) []byte { return append(b, 0, 0, 0, 0) }

// beginRequest is beginFrame with the header of a request.
func beginRequest(b []byte, xid int32, op proto.OpCode) []byte {
	b = proto.AppendInt32(beginFrame(b), xid)
	return proto.AppendInt32(b, int32(op))
}

func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
