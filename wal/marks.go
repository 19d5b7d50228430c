package wal

import "github.com/seed94657493/warren/proto"

// markEvery is the least distance in bytes between two marks of a file. Finding a txn means reading about that much.
const markEvery = 1 << 20

// mark says where in a file a record begins that is not a repeated one. A Log has those of all files that it has
// written or replayed: 16 bytes for each MiB of the log.
type mark struct {
	zxid   proto.Zxid
	offset int64
}

// marks are in ascending order.
type marks []mark

// add notes a record that comes behind those before, if it is far enough behind the last mark.
func (m *marks) add(zxid proto.Zxid, offset int64) {
	if offset-m.end() >= markEvery {
		*m = append(*m, mark{zxid, offset})
	}
}

// end is the offset of the last mark, or where the records of a file begin.
func (m *marks) end() int64 {
	if n := len(*m); n > 0 {
		return (*m)[n-1].offset
	}
	return headerSize
}

// cut forgets what a file no longer has that ends at end.
func (m *marks) cut(end int64) {
	for n := len(*m); n > 0 && (*m)[n-1].offset >= end; n-- {
		*m = (*m)[: n-1 : n-1] // copies of the list keep what they have
	}
}

// before returns where to begin to read for the txn z, and what comes from it on: all before that has smaller zxids.
func (m marks) before(z proto.Zxid) int64 {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].zxid <= z {
			return m[i].offset
		}
	}
	return headerSize
}
