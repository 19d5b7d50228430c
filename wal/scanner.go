package wal

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Record is one txn in the log. Payload is valid until the next record is read.
type Record struct {
	Zxid    proto.Zxid
	Payload []byte // TxnHeader, body, digest
	Sum     uint32 // Adler-32 of Payload
	File    string // path
	Offset  int64  // of the framed record in the file
	// Repeated is true if the file has the zxid before: a ZooKeeper follower that lost its leader while it was
	// synchronized, and follows again, appends txns that are in its log already. Source: quorum-protocol 6.9, B7.
	Repeated bool
}

// scanBuffer is how much is read at once, in bytes. A larger record makes the buffer grow.
const scanBuffer = 256 << 10

// scanner reads the records of one file in order. It belongs to one goroutine.
type scanner struct {
	file  vfs.File
	name  string
	limit int64 // bytes from here on are not looked at
	off   int64 // of the next record
	buf   []byte
	start int64      // offset of buf[0]
	last  proto.Zxid // of the last record that was not repeated
	any   bool       // whether last is of a record of this file
	back  bool       // whether the record before off was a repeated one
}

// newScanner returns a scanner of the first limit bytes of file, after checking the header. Error messages name
// last if the first record is damaged.
func newScanner(file vfs.File, name string, limit int64, last proto.Zxid, buf []byte) (*scanner, error) {
	if cap(buf) == 0 {
		buf = make([]byte, 0, min(scanBuffer, max(limit, headerSize)))
	}
	s := &scanner{file: file, name: name, limit: limit, buf: buf[:0], last: last}
	if limit < headerSize {
		return nil, notLog(name, last, "the file has %d bytes, less than the header of a log, which has %d", limit,
			headerSize)
	}
	b, err := s.peek(headerSize)
	if err != nil {
		return nil, err
	}
	if magic := int32(binary.BigEndian.Uint32(b)); magic != proto.MagicLog {
		return nil, notLog(name, last, "the file begins with %#08x instead of %#08x", uint32(magic),
			uint32(proto.MagicLog))
	}
	s.off = headerSize
	return s, nil
}

// peek returns the n bytes at off, which must be below the limit.
func (s *scanner) peek(n int) ([]byte, error) {
	at := int(s.off - s.start)
	if at+n <= len(s.buf) {
		return s.buf[at : at+n], nil
	}
	rest := s.buf[min(at, len(s.buf)):]
	if n > cap(s.buf) {
		s.buf = append(make([]byte, 0, n), rest...)
	} else {
		s.buf = s.buf[:copy(s.buf[:cap(s.buf)], rest)]
	}
	s.start = s.off
	have := len(s.buf)
	want := int(min(int64(cap(s.buf)), s.limit-s.start))
	got, err := s.file.ReadAt(s.buf[have:want], s.start+int64(have))
	s.buf = s.buf[:have+got]
	if len(s.buf) >= n {
		return s.buf[:n], nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("wal: read %s at offset %d: %w", s.name, s.start+int64(len(s.buf)), err)
}

// nextNew is next without the repeated records.
func (s *scanner) nextNew(r *Record) (bool, error) {
	for {
		if ok, err := s.next(r); err != nil || !ok || !r.Repeated {
			return ok, err
		}
	}
}

// next reads the record at off into r and steps over it. It returns false where the records end: at the limit, at
// a zero length, or at a record that is cut short. ending decides whether that is a legal end.
func (s *scanner) next(r *Record) (bool, error) {
	left := s.limit - s.off
	if left < prefixSize {
		return false, nil
	}
	b, err := s.peek(prefixSize)
	if err != nil {
		return false, err
	}
	sum := binary.BigEndian.Uint64(b)
	length := int64(int32(binary.BigEndian.Uint32(b[8:])))
	switch {
	case length == 0:
		return false, nil
	case length < 0 || length > payloadMax:
		return false, corrupt(s.name, s.off, s.last, "the record claims a length of %d", length)
	case length > left-overhead:
		return false, nil
	}
	size := overhead + int(length)
	if size > cap(s.buf) { // the buffer must not grow for a false length
		var end [1]byte
		if _, err := s.file.ReadAt(end[:], s.off+int64(size)-1); err != nil && err != io.EOF {
			return false, fmt.Errorf("wal: read %s at offset %d: %w", s.name, s.off+int64(size)-1, err)
		}
		if end[0] == 0 {
			return false, nil
		}
	}
	if b, err = s.peek(size); err != nil {
		return false, err
	}
	switch end := b[size-1]; end {
	case endByte:
	case 0:
		return false, nil
	default:
		return false, corrupt(s.name, s.off, s.last, "the record of %d bytes ends with %#02x instead of %#02x: "+
			"its length or its last byte was damaged", size, end, endByte)
	}
	payload := b[prefixSize : size-1]
	if actual := checksum(payload); sum != uint64(actual) {
		zxid := s.last
		if len(payload) >= payloadMin {
			zxid = zxidOf(payload)
		}
		return false, corrupt(s.name, s.off, zxid, "the record's checksum is %#x but its payload gives %#x: "+
			"it was damaged after it was written", sum, actual)
	}
	if len(payload) < payloadMin {
		return false, corrupt(s.name, s.off, s.last, "the payload of %d bytes is too short for a txn", len(payload))
	}
	z := zxidOf(payload)
	if s.back = s.isRepeated(z); !s.back {
		s.last, s.any = z, true
	}
	*r = Record{Zxid: z, Payload: payload, Sum: uint32(sum), File: s.name, Offset: s.off, Repeated: s.back}
	s.off += int64(size)
	return true, nil
}

// isRepeated reports whether the file has the zxid of its next record before: the zxids have gone back within the
// epoch, and have not yet come to where they were.
func (s *scanner) isRepeated(z proto.Zxid) bool {
	return (z < s.last || z == s.last && s.back) && s.any && z.Epoch() == s.last.Epoch()
}
