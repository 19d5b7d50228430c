package bench

import (
	"encoding/binary"
	"fmt"
	"io"
)

// maxFrame bounds a reply. Servers do not limit replies; a list of ten million names fits.
const maxFrame = 512 << 20

// frameReader splits a byte stream into frames. The buffer grows to the largest frame seen, by
// doubling as its bytes arrive, never by what a length word promises.
type frameReader struct {
	src  io.Reader
	buf  []byte
	r, w int // unread bytes are buf[r:w]
}

// initialBuffer is small, because a hundred thousand idle sessions have one each.
const initialBuffer = 128

// fill does one Read behind what is already there.
func (f *frameReader) fill() error {
	if f.buf == nil {
		f.buf = make([]byte, initialBuffer)
	}
	if f.r == f.w {
		f.r, f.w = 0, 0
	}
	if f.w == len(f.buf) {
		if f.r > len(f.buf)/2 {
			f.r, f.w = 0, copy(f.buf, f.buf[f.r:f.w])
		} else {
			f.reserve(2 * len(f.buf))
		}
	}
	n, err := f.src.Read(f.buf[f.w:])
	f.w += n
	if n > 0 {
		return nil
	}
	return err
}

// next returns the next whole frame without its length word; ok is false if more bytes are
// needed. The frame is valid until fill.
func (f *frameReader) next() (frame []byte, ok bool, err error) {
	if f.w-f.r < 4 {
		return nil, false, nil
	}
	n := int(int32(binary.BigEndian.Uint32(f.buf[f.r:])))
	if n < 0 || n > maxFrame {
		return nil, false, fmt.Errorf("bench: a reply claims %d bytes", n)
	}
	if f.w-f.r < 4+n {
		return nil, false, nil
	}
	frame = f.buf[f.r+4 : f.r+4+n]
	f.r += 4 + n
	return frame, true, nil
}

// read returns the next whole frame, waiting for it.
func (f *frameReader) read() ([]byte, error) {
	for {
		frame, ok, err := f.next()
		if ok || err != nil {
			return frame, err
		}
		if err := f.fill(); err != nil {
			return nil, err
		}
	}
}

// beginFrame leaves room for a length word.
func beginFrame(b []byte) []byte { return append(b, 0, 0, 0, 0) }

// endFrame fills in the length word that beginFrame left at start.
func endFrame(b []byte, start int) {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
}

// reserve makes room for n bytes a Read.
func (f *frameReader) reserve(n int) {
	if len(f.buf) < n {
		grown := make([]byte, n)
		f.w = copy(grown, f.buf[f.r:f.w])
		f.r, f.buf = 0, grown
	}
}
