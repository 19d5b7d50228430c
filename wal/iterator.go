package wal

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Iterator reads synced records while the log goes on. It belongs to one goroutine and must be
// closed: until then, Purge keeps the files it has not read.
type Iterator struct {
	l    *Log
	from proto.Zxid
	prev proto.Zxid // of the last record read
	any  bool       // whether prev is one
	cuts int64

	first   proto.Zxid // name of the file being read; guarded by Log.mu
	file    vfs.File   // nil before the first record and at the end of a file
	scanner *scanner
	buf     []byte
	record  Record
}

// Records returns an Iterator over the synced records with a zxid >= from. It returns ErrGap if the
// log does not reach back to from. Any goroutine may call it after Replay.
func (l *Log) Records(from proto.Zxid) (*Iterator, error) {
	if err := l.failed.Load(); err != nil {
		return nil, *err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	it := &Iterator{l: l, from: from, cuts: l.cuts.Load()}
	if len(l.mu.segments) == 0 {
		if from <= l.LastZxid() {
			return nil, &Error{Kind: ErrGap, File: l.o.Dir, Zxid: from, Reason: "the log is empty"}
		}
		it.first = from
	} else {
		s := l.mu.segments[needed(l.mu.segments, from)]
		if s.first > from && !Follows(from-1, s.first) {
			return nil, &Error{Kind: ErrGap, File: l.o.path(s.name), Zxid: from,
				Reason: "it is the first file of the log"}
		}
		it.first = s.first
	}
	l.mu.iterators[it] = true
	return it, nil
}

// Next returns the next record, valid until the following call. It returns io.EOF if there is none
// that is synced, and may be called again later; ErrTruncated if Truncate or Reset came in between;
// *Error if the log is damaged.
func (it *Iterator) Next() (*Record, error) {
	for {
		if it.cuts != it.l.cuts.Load() {
			return nil, ErrTruncated
		}
		if it.scanner != nil {
			switch ok, err := it.scanner.nextNew(&it.record); {
			case err != nil && it.cuts != it.l.cuts.Load():
				return nil, ErrTruncated
			case err != nil:
				return nil, err
			case ok:
				if err := it.check(); err != nil {
					return nil, err
				}
				if it.record.Zxid < it.from {
					continue
				}
				return &it.record, nil
			}
		}
		if more, err := it.refill(); err != nil {
			return nil, err
		} else if !more {
			return nil, io.EOF
		}
	}
}

// refill shows the scanner what was synced since, or steps to the next file. It returns false if there is nothing
// new.
func (it *Iterator) refill() (bool, error) {
	path, limit, last, err := it.position()
	switch {
	case err != nil:
		return false, err
	case it.scanner == nil && limit > headerSize:
		return true, it.open(path, limit)
	case it.scanner != nil && limit > it.scanner.limit:
		it.scanner.limit = limit
		return true, nil
	case last:
		return false, nil
	}
	return true, it.advance()
}

// position returns the current file, how far it may be read, and whether it is the last.
func (it *Iterator) position() (path string, limit int64, last bool, err error) {
	l := it.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.iterators[it] {
		return "", 0, false, fmt.Errorf("wal: iterator: %w", ErrClosed)
	}
	i := needed(l.mu.segments, it.first)
	if i == len(l.mu.segments) {
		return "", 0, true, nil
	}
	s := l.mu.segments[i]
	if it.scanner == nil {
		it.first = s.first
	} else if it.first != s.first {
		return "", 0, false, ErrTruncated
	}
	path, limit = l.o.path(s.name), s.end
	if limit < 0 {
		info, err := l.o.FS.Stat(path)
		if err != nil {
			return "", 0, false, fmt.Errorf("wal: %w", err)
		}
		limit = info.Size()
	}
	return path, limit, i+1 == len(l.mu.segments), nil
}

// open opens the current file.
func (it *Iterator) open(path string, limit int64) error {
	if it.buf == nil {
		it.buf = make([]byte, 0, scanBuffer)
	}
	var err error
	if it.file, err = it.l.o.FS.Open(path); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	if it.scanner, err = newScanner(it.file, path, limit, it.prev, it.buf); err != nil {
		return errors.Join(err, it.closeFile())
	}
	return nil
}

// check refuses a record that does not follow the one before.
func (it *Iterator) check() error {
	r := &it.record
	ok := !it.any || r.Zxid == it.prev || Follows(it.prev, r.Zxid) || r.Zxid > it.prev && r.Zxid <= it.from
	if !it.any {
		ok = r.Zxid <= it.from || Follows(it.from-1, r.Zxid)
	}
	if !ok {
		return &Error{Kind: ErrGap, File: r.File, Offset: r.Offset, Zxid: r.Zxid,
			Reason: fmt.Sprintf("the record comes after txn %v", it.prev)}
	}
	it.prev, it.any = r.Zxid, true
	return nil
}

// advance steps to the next file.
func (it *Iterator) advance() error {
	if err := it.closeFile(); err != nil {
		return err
	}
	l := it.l
	l.mu.Lock()
	defer l.mu.Unlock()
	i := needed(l.mu.segments, it.first) + 1
	if i >= len(l.mu.segments) {
		return ErrTruncated
	}
	it.first = l.mu.segments[i].first
	return nil
}

func (it *Iterator) closeFile() error {
	if it.scanner != nil {
		it.buf = it.scanner.buf
	}
	f := it.file
	it.file, it.scanner = nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// Close releases the iterator. It may be called twice.
func (it *Iterator) Close() error {
	it.l.mu.Lock()
	delete(it.l.mu.iterators, it)
	it.l.mu.Unlock()
	return it.closeFile()
}
