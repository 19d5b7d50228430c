package zkscripts

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"

	"github.com/seed94657493/warren/cmd/warren/command/files"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// txnLog reads a log file as TxnLogToolkit does, which judges nothing: a record whose checksum does not match is read
// too. It ends at the first record that is empty or incomplete. What a server makes of a file is in package wal.
// Source: storage 4, operations 6.4.
type txnLog struct {
	file   string
	in     *bufio.Reader
	offset int64 // of the next record
	left   int64 // bytes from there on
	buf    []byte
}

const (
	recordPrefixSize = 12 // checksum and length
	recordEndByte    = 'B'
)

// newTxnLog reads the header of a file of this size.
func newTxnLog(file string, r io.Reader, size int64) (*txnLog, error) {
	l := &txnLog{file: file, in: bufio.NewReaderSize(r, 64<<10), offset: files.LogHeaderSize,
		left: size - files.LogHeaderSize}
	head := make([]byte, files.LogHeaderSize)
	if _, err := io.ReadFull(l.in, head); err != nil {
		return nil, fmt.Errorf("%s: the header of %d bytes cannot be read: %w", file, files.LogHeaderSize, err)
	}
	if magic := binary.BigEndian.Uint32(head); magic != uint32(proto.MagicLog) {
		//lint:ignore ST1005 scripts look for the text of ZooKeeper's tool
		return nil, fmt.Errorf("Invalid magic number for %s: it begins with %#08x", file, magic)
	}
	return l, nil
}

// rawTxn is a record as it stands in the file.
type rawTxn struct {
	record  wal.Record
	bytes   []byte // the record with checksum, length and end byte; valid until the next
	isWhole bool   // the checksum matches
}

// next reads a record. ok is false at the end. It allocates no more than what is left of the file.
func (l *txnLog) next() (t rawTxn, ok bool, err error) {
	if l.left < recordPrefixSize {
		return t, false, nil
	}
	prefix, err := l.in.Peek(recordPrefixSize)
	if err != nil {
		return t, false, l.unreadable(err)
	}
	sum, length := binary.BigEndian.Uint64(prefix), int64(int32(binary.BigEndian.Uint32(prefix[8:])))
	size := recordPrefixSize + length + 1
	switch {
	case length == 0 || size > l.left:
		return t, false, nil
	case length < 0:
		return t, false, fmt.Errorf("%s: the record at offset %d claims a length of %d", l.file, l.offset, length)
	case int64(cap(l.buf)) < size:
		l.buf = make([]byte, size)
	}
	l.buf = l.buf[:size]
	if _, err := io.ReadFull(l.in, l.buf); err != nil {
		return t, false, l.unreadable(err)
	}
	if l.buf[size-1] != recordEndByte {
		return t, false, nil // the write did not finish
	}
	payload := l.buf[recordPrefixSize : len(l.buf)-1]
	var h proto.TxnHeader
	if err := h.ReadFrom(payload); err != nil {
		return t, false, fmt.Errorf("%s: the record at offset %d: %w", l.file, l.offset, err)
	}
	t = rawTxn{record: wal.Record{Zxid: h.Zxid, Payload: payload, File: l.file, Offset: l.offset}, bytes: l.buf,
		isWhole: sum == uint64(adler32.Checksum(payload))}
	l.offset += size
	l.left -= size
	return t, true, nil
}

func (l *txnLog) unreadable(err error) error {
	return fmt.Errorf("%s: at offset %d: %w", l.file, l.offset, err)
}
