package wal

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// The format of the files. Changing any of these makes existing logs unreadable, also for Apache
// ZooKeeper. Source: storage 4.1.
const (
	headerSize   = 16                  // FileHeader
	prefixSize   = 12                  // checksum and length
	overhead     = prefixSize + 1      // and the end byte
	endByte      = 0x42                // 'B'
	payloadMin   = proto.TxnHeaderSize // a txn without a body
	filePrefix   = "log."
	tempPrefix   = "tmp.log."
	tempNext     = tempPrefix + "next"
	tempNew      = tempPrefix + "new"
	recordMin    = overhead + payloadMin
	zxidInRecord = prefixSize + 12 // offset of the zxid in a framed record
)

// payloadMax bounds what is read; the rest of the file bounds it further.
const payloadMax = 1 << 30

// BeginRecord appends room for the checksum and the length of a record; the caller appends the payload next.
func BeginRecord(b []byte) []byte {
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// EndRecord completes the record that BeginRecord began at b[start]: b[start+12:] is its payload. It panics if
// the payload is shorter than a TxnHeader, or 1 GiB or longer.
func EndRecord(b []byte, start int) []byte {
	payload := b[start+prefixSize:]
	if len(payload) < payloadMin || len(payload) >= payloadMax {
		panic(fmt.Sprintf("wal: EndRecord: payload of %d bytes", len(payload)))
	}
	binary.BigEndian.PutUint64(b[start:], uint64(checksum(payload)))
	binary.BigEndian.PutUint32(b[start+8:], uint32(len(payload)))
	return append(b, endByte)
}

// AppendRecord appends the framed record of payload.
func AppendRecord(b, payload []byte) []byte {
	start := len(b)
	b = BeginRecord(b)
	b = append(b, payload...)
	return EndRecord(b, start)
}

// fileHeader returns the first 16 bytes of a file.
func fileHeader() []byte {
	h := proto.FileHeader{Magic: proto.MagicLog, Version: proto.FileVersion}
	return h.AppendTo(make([]byte, 0, headerSize))
}

// zxidOf returns the zxid of a payload of at least payloadMin bytes.
func zxidOf(payload []byte) proto.Zxid {
	return proto.Zxid(binary.BigEndian.Uint64(payload[12:]))
}

// fileName returns the name of the file whose first record is first.
func fileName(first proto.Zxid) string {
	return filePrefix + strconv.FormatInt(int64(first), 16)
}

// FileZxid returns the zxid that the name of a log file claims for its first record. exact is
// false for a name with further parts (log.35.bak), which Apache ZooKeeper would read as a log too.
// ok is false for all other files. Source: storage 1.2.
func FileZxid(name string) (first proto.Zxid, exact, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) < 2 || parts[0]+"." != filePrefix {
		return 0, false, false
	}
	v, err := strconv.ParseInt(parts[1], 16, 64)
	if err != nil || v < 0 || parts[1][0] == '+' {
		return 0, false, false
	}
	return proto.Zxid(v), len(parts) == 2, true
}

// Follows reports whether a txn next may come right after prev: the next number, or the beginning
// of a later epoch. A leader's first proposal has counter 1; a single server that counts over the
// end of an epoch gets counter 0. Source: storage 4.8.
func Follows(prev, next proto.Zxid) bool {
	return next == prev+1 || next.Epoch() > prev.Epoch() && next.Counter() <= 1
}
