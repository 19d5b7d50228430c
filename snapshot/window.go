package snapshot

import (
	"errors"
	"io"
)

// window is the part of a stream that a parser sees: the unread bytes in memory, contiguous. Records are parsed
// in place; only a record that straddles two pieces of the stream is put together in a separate buffer.
//
// A window never asks its stream for more bytes than peek was asked for, so a window over a connection stops
// exactly after the record that was read last.
type window struct {
	buf []byte // the unread bytes in memory
	off int64  // position of buf[0] in the stream

	// next returns the next piece of the stream: at least one byte, and at most max if the stream limits its
	// reads. The piece before is then no longer valid. io.EOF: the stream has ended.
	next func(max int) ([]byte, error)
	// limit is an upper bound of the length of the stream; the stream may be shorter.
	limit int64

	spill   []byte // buffer in which a record that straddles pieces is put together
	at      int    // buf[0] is spill[at] while buf is in spill
	rest    []byte // the bytes of the piece after buf while buf is in spill
	spilled bool   // buf is in spill
}

// errEnded is returned by peek when the stream ends, cleanly, before the bytes asked for.
var errEnded = errors.New("ends too early")

// ended turns an end of file into errEnded.
func ended(err error) error {
	if err == io.EOF {
		return errEnded
	}
	return err
}

// peek returns the unread bytes, at least n of them. If it cannot, it returns the bytes that there are with
// errEnded or the error of the stream. The bytes are valid until the next call that asks for more.
func (w *window) peek(n int) ([]byte, error) {
	if len(w.buf) >= n {
		return w.buf, nil
	}
	return w.fill(n)
}

// skip consumes n of the bytes that peek returned.
func (w *window) skip(n int) {
	w.buf = w.buf[n:]
	w.off += int64(n)
	if w.spilled {
		if w.at += n; len(w.buf) == 0 {
			w.buf, w.rest, w.spilled = w.rest, nil, false
		}
	}
}

// available returns an upper bound of the bytes that are not yet consumed.
func (w *window) available() int64 { return w.limit - w.off }

// fill gathers n bytes. The buffer grows with the bytes that arrive, not with n, so a length that
// lies costs nothing.
func (w *window) fill(n int) ([]byte, error) {
	switch {
	case w.spilled:
		if w.at > 0 {
			w.spill, w.at = append(w.spill[:0], w.buf...), 0
		}
	case len(w.buf) == 0:
		piece, err := w.next(n)
		if err != nil {
			return w.buf, ended(err)
		}
		w.buf = piece
		if len(w.buf) >= n {
			return w.buf, nil
		}
		fallthrough
	default:
		w.spill = append(w.reusable(), w.buf...)
		w.at, w.rest, w.spilled = 0, nil, true
	}
	for len(w.spill) < n {
		if len(w.rest) == 0 {
			piece, err := w.next(n - len(w.spill))
			if err != nil {
				w.buf = w.spill
				return w.buf, ended(err)
			}
			w.rest = piece
		}
		k := min(n-len(w.spill), len(w.rest))
		w.spill = append(w.spill, w.rest[:k]...)
		w.rest = w.rest[k:]
	}
	w.buf = w.spill
	return w.buf, nil
}

// spillKept is the largest buffer that is kept for the next record that straddles pieces.
const spillKept = 4 << 20

func (w *window) reusable() []byte {
	if cap(w.spill) > spillKept {
		return nil
	}
	return w.spill[:0]
}
