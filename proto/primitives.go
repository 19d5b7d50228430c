package proto

import (
	"encoding/binary"
	"errors"
)

// Text is a ustring: bytes that should be UTF-8. Nil is null, which differs from empty. Decoded text aliases the
// input.
type Text []byte

// String returns a copy of t; null and empty both give "".
func (t Text) String() string { return string(t) }

// Decoding errors. All of them mean that the bytes are not a valid encoding of the record.
var (
	// ErrTruncated is returned when a record ends before its last field.
	ErrTruncated = errors.New("proto: record is truncated")
	// ErrLength is returned for a buffer or string length below -1 or beyond the record.
	ErrLength = errors.New("proto: length of a string or buffer is out of bounds")
	// ErrCount is returned for a vector that claims more elements than bytes could hold.
	ErrCount = errors.New("proto: count of a vector is out of bounds")
)

// Reader decodes primitives from the front of a byte slice. The first failure sticks: from then
// on every getter returns the zero value and Err the cause, so that decoders are straight lines.
type Reader struct {
	buf []byte
	off int
	err error
}

// NewReader returns a Reader over b, which must stay unchanged while decoded values are in use.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Reset makes r read b from the start.
func (r *Reader) Reset(b []byte) { *r = Reader{buf: b} }

// Err returns the first failure, or nil.
func (r *Reader) Err() error { return r.err }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.buf) - r.off }

// Offset returns how many bytes have been consumed.
func (r *Reader) Offset() int { return r.off }

// Rest returns the bytes that are left without consuming them.
func (r *Reader) Rest() []byte { return r.buf[r.off:] }

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.off = len(r.buf)
	}
}

// Bool decodes one byte; any value but 0 is true.
func (r *Reader) Bool() bool {
	if r.Len() < 1 {
		r.fail(ErrTruncated)
		return false
	}
	v := r.buf[r.off] != 0
	r.off++
	return v
}

// Int32 decodes four bytes.
func (r *Reader) Int32() int32 {
	if r.Len() < 4 {
		r.fail(ErrTruncated)
		return 0
	}
	v := binary.BigEndian.Uint32(r.buf[r.off:])
	r.off += 4
	return int32(v)
}

// Int64 decodes eight bytes.
func (r *Reader) Int64() int64 {
	if r.Len() < 8 {
		r.fail(ErrTruncated)
		return 0
	}
	v := binary.BigEndian.Uint64(r.buf[r.off:])
	r.off += 8
	return int64(v)
}

// Buffer decodes a length and that many bytes, which alias the input. Null gives nil.
func (r *Reader) Buffer() []byte {
	n := int(r.Int32())
	if n == -1 || r.err != nil {
		return nil
	}
	if n < -1 || n > r.Len() {
		r.fail(ErrLength)
		return nil
	}
	v := r.buf[r.off : r.off+n : r.off+n]
	r.off += n
	return v
}

// Text decodes a string, which aliases the input. Null gives nil.
func (r *Reader) Text() Text { return r.Buffer() }

// Count decodes the element count of a vector whose elements take at least minSize bytes. It
// returns -1 for null, and 0 for any other negative count, as the reference does.
func (r *Reader) Count(minSize int) int {
	n := int(r.Int32())
	switch {
	case n == -1 && r.err == nil:
		return -1
	case n <= 0:
		return 0
	case n > r.Len()/minSize:
		r.fail(ErrCount)
		return 0
	}
	return n
}

// readFrom decodes v from the front of b. It must stay small enough to be inlined: then v stays on its caller's stack.
func readFrom(b []byte, v interface{ Decode(r *Reader) }) error {
	r := NewReader(b)
	v.Decode(&r)
	return r.err
}

// AppendBool appends one byte.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendInt32 appends four bytes.
func AppendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendInt64 appends eight bytes.
func AppendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendBuffer appends a length and the bytes of v; nil is null.
func AppendBuffer(b, v []byte) []byte {
	if v == nil {
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
	return append(b, v...)
}

// AppendString appends a length and the bytes of v, which is never null.
func AppendString(b []byte, v string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
	return append(b, v...)
}

// appendCount appends the element count of a vector of n elements, -1 if it is null.
func appendCount(b []byte, n int, isNull bool) []byte {
	if isNull {
		n = -1
	}
	return AppendInt32(b, int32(n))
}

// resize returns a slice of n elements that reuses v's capacity, and is not nil.
func resize[T any](v []T, n int) []T {
	if n <= cap(v) && v != nil {
		return v[:n]
	}
	return make([]T, n)
}
