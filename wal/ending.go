package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// ending decides why the records of a file end at off although the file goes on to size. It returns torn = false
// if only zeros follow, torn = true if the beginning of an unfinished write follows. It returns ErrCorrupt if
// that is impossible:
//
//   - the bytes up to the last one that is not zero are a whole record except for its length;
//   - a valid record, with a zxid that may come after last, follows later.
func ending(file vfs.File, name string, off, size int64, last proto.Zxid) (torn bool, err error) {
	e := &endingReader{file: file, name: name, size: size, buf: make([]byte, min(scanBuffer, max(size-off, 1)))}
	end, err := e.lastNonZero(off)
	if err != nil || end < 0 {
		return false, err
	}
	if intact, err := e.isWholeButLength(off, end); err != nil {
		return false, err
	} else if intact {
		return false, corrupt(name, off, last, "the record's payload is whole but its length or end byte was damaged")
	}
	at, zxid, err := e.findRecord(off+1, end+1, last)
	if err != nil {
		return false, err
	}
	if at >= 0 {
		return false, corrupt(name, off, last, "no record can be read here, but txn %v stands behind it at offset %d",
			zxid, at)
	}
	return true, nil
}

// endingReader looks at the bytes after the last good record.
type endingReader struct {
	file   vfs.File
	name   string
	size   int64
	buf    []byte
	budget int64 // bytes that may still be checksummed
}

// read returns up to len(buf) bytes at off, valid until the next read.
func (e *endingReader) read(off int64) ([]byte, error) {
	n, err := e.file.ReadAt(e.buf[:min(int64(len(e.buf)), e.size-off)], off)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("wal: read %s at offset %d: %w", e.name, off, err)
	}
	if n == 0 {
		return nil, fmt.Errorf("wal: read %s at offset %d: %w", e.name, off, io.ErrUnexpectedEOF)
	}
	return e.buf[:n], nil
}

// lastNonZero returns the offset of the last byte from off on that is not zero, or -1.
func (e *endingReader) lastNonZero(off int64) (int64, error) {
	end := int64(-1)
	for off < e.size {
		b, err := e.read(off)
		if err != nil {
			return 0, err
		}
		if !isZero(b) {
			end = off + int64(len(bytes.TrimRight(b, "\x00"))) - 1
		}
		off += int64(len(b))
	}
	return end, nil
}

// isWholeButLength reports whether the bytes from off to end are a record whose length field is
// wrong.
func (e *endingReader) isWholeButLength(off, end int64) (bool, error) {
	if end-off < recordMin-1 || end-off > payloadMax {
		return false, nil
	}
	b, err := e.read(off)
	if err != nil {
		return false, err
	}
	if len(b) < prefixSize {
		return false, nil
	}
	sum := binary.BigEndian.Uint64(b)
	return e.isRecord(off+prefixSize, end, sum)
}

// isRecord reports whether byte end is an end byte and the bytes [payload, end) have the checksum
// sum. It uses the buffer.
func (e *endingReader) isRecord(payload, end int64, sum uint64) (bool, error) {
	b, err := e.read(end)
	if err != nil || b[0] != endByte {
		return false, err
	}
	h := adler32.New()
	for at := payload; at < end; at += int64(len(b)) {
		if b, err = e.read(at); err != nil {
			return false, err
		}
		b = b[:min(int64(len(b)), end-at)]
		h.Write(b)
	}
	return uint64(h.Sum32()) == sum, nil
}

// findRecord returns offset and zxid of a valid record that begins in [from, to) and may come after
// last, or -1.
func (e *endingReader) findRecord(from, to int64, last proto.Zxid) (int64, proto.Zxid, error) {
	const head = zxidInRecord + 8
	e.budget = 64<<20 + 16*(to-from)
	most := uint32((e.size-from)/recordMin + 1) // records that fit
	window := make([]byte, min(scanBuffer, to-from+head))
	for from < to {
		n, err := e.file.ReadAt(window[:min(int64(len(window)), e.size-from)], from)
		if err != nil && err != io.EOF {
			return 0, 0, fmt.Errorf("wal: read %s at offset %d: %w", e.name, from, err)
		}
		if n < head {
			return -1, 0, nil
		}
		b := window[:n]
		i := 0
		for i+head <= n && from+int64(i) < to {
			if length := binary.BigEndian.Uint32(b[i+8:]); length == 0 {
				i = skipZeros(b, i)
				continue
			} else if length < payloadMin || length > payloadMax ||
				from+int64(i)+overhead+int64(length) > e.size ||
				binary.BigEndian.Uint32(b[i:]) != 0 ||
				!mayFollow(last, proto.Zxid(binary.BigEndian.Uint64(b[i+zxidInRecord:])), most) {
				i++
				continue
			}
			off := from + int64(i)
			length := int64(binary.BigEndian.Uint32(b[i+8:]))
			if e.budget -= length; e.budget < 0 {
				return 0, 0, corrupt(e.name, off, last,
					"what stands behind the last good record looks like too many records to tell")
			}
			ok, err := e.isRecord(off+prefixSize, off+prefixSize+length, binary.BigEndian.Uint64(b[i:]))
			if err != nil {
				return 0, 0, err
			}
			if ok {
				return off, proto.Zxid(binary.BigEndian.Uint64(b[i+zxidInRecord:])), nil
			}
			i++
		}
		from += int64(max(i, 1))
	}
	return -1, 0, nil
}

// skipZeros returns the next position after i at which a record whose length field is not zero may
// begin, given that the length field at i is.
func skipZeros(b []byte, i int) int {
	at := i + prefixSize
	for at+4096 <= len(b) && isZero(b[at:at+4096]) {
		at += 4096
	}
	rest := b[at:]
	at += len(rest) - len(bytes.TrimLeft(rest, "\x00"))
	return at - (prefixSize - 1)
}

// isZero reports whether all bytes of b are zero.
func isZero(b []byte) bool {
	for len(b) > len(zeros) {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return bytes.Equal(b, zeros[:len(b)])
}

// zeros is compared with, and written ahead. It is never changed.
var zeros [zeroChunk]byte

// mayFollow reports whether zxid can be one of the next most txns after last.
func mayFollow(last, zxid proto.Zxid, most uint32) bool {
	if zxid.Epoch() == last.Epoch() {
		return zxid > last && zxid-last <= proto.Zxid(most)
	}
	return zxid.Epoch() > last.Epoch() && zxid.Counter() <= most
}
