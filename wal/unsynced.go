package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// A loss of power keeps any subset of the blocks that were written and not synced. So a record may be damaged
// although valid ones follow it. No part of such a write was promised: it is cut like a torn tail. This cut is
// bounded on all sides, because a disk that loses synced blocks looks alike:
//
//   - the damage lies in the last file, because a file is synced before the next one begins;
//   - the records before it reach at least to the snapshot, whose txns were synced before they were applied;
//   - from the damage to the last byte that is not zero there are no more bytes than Append leaves unsynced;
//   - in the first record that cannot be read, a whole block is zero as it was before the write (or the whole
//     part of the block after the preceding record). A flipped bit, or a block with other contents, is damage.
//
// Source: adr 0008.

// unsyncedMax bounds the bytes that are appended and not synced, unless a single Append has more: Append syncs
// before it would exceed the bound. The server's batches stay below.
const unsyncedMax = 8 << 20

// blockSize is the smallest piece that a disk writes at once, in bytes.
const blockSize = 512

// unfinished decides whether the damage that err reports at off, where the good records of the last file end, can
// belong to a write that was never synced. It returns err if not.
func unfinished(file vfs.File, name string, off, size int64, last, from proto.Zxid, err error) error {
	var damage *Error
	if !errors.As(err, &damage) || !errors.Is(err, ErrCorrupt) || last < from-1 {
		return err
	}
	e := &endingReader{file: file, name: name, size: size, buf: make([]byte, min(scanBuffer, max(size-off, 1)))}
	end, readErr := e.lastNonZero(off)
	if readErr != nil {
		return readErr
	}
	if end+1-off > unsyncedMax {
		return err
	}
	switch missing, readErr := missesBlock(file, name, off, size); {
	case readErr != nil:
		return readErr
	case missing:
		return nil
	}
	return err
}

// missesBlock reports whether a block of the record at off was never written.
func missesBlock(file vfs.File, name string, off, size int64) (bool, error) {
	b := make([]byte, blockSize)
	read := func(b []byte, off int64) ([]byte, error) {
		n, err := file.ReadAt(b, off)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("wal: read %s at offset %d: %w", name, off, err)
		}
		return b[:n], nil
	}
	prefix, err := read(b[:prefixSize], off)
	if err != nil {
		return false, err
	}
	end := min(off+prefixSize, size)
	if len(prefix) == prefixSize {
		if length := int64(int32(binary.BigEndian.Uint32(prefix[8:]))); length > 0 && length <= payloadMax {
			end = min(off+overhead+length, size)
		}
	}
	for off < end {
		next := off - off%blockSize + blockSize
		block, err := read(b[:next-off], off)
		if err != nil {
			return false, err
		}
		if isZero(block) {
			return true, nil
		}
		off = next
	}
	return false, nil
}
