package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Truncate removes every txn above last, durably; the next Append continues there. It returns
// ErrNotFound, and has changed nothing, if last is neither in the log nor the zxid of the state that
// Replay continued from. After a crash in between, the log ends at some later txn, and Truncate can be
// repeated. Source: TRUNC, storage 4.7.
func (l *Log) Truncate(last proto.Zxid) error {
	if err := l.Roll(); err != nil {
		return err
	}
	if last == l.LastZxid() {
		return nil
	}
	l.dropTail()
	l.mu.Lock()
	segments := slices.Clone(l.mu.segments)
	l.mu.Unlock()
	keep, end, err := l.locate(segments, last)
	if err != nil {
		return err
	}
	if err := l.cut(segments[keep:], end); err != nil {
		return l.poison(fmt.Errorf("wal: truncate to %v: %w", last, err))
	}
	l.base.Store(min(l.base.Load(), int64(last)))
	l.last.Store(int64(last))
	l.size.Store(0)
	return nil
}

// Reset removes all txns: the state was replaced by a snapshot at last, which is durable already.
// The next Append continues there. After a crash in between, a prefix of the old log is left.
// Source: SNAP.
func (l *Log) Reset(last proto.Zxid) error {
	if err := l.Roll(); err != nil {
		return err
	}
	l.dropTail()
	l.mu.Lock()
	segments := slices.Clone(l.mu.segments)
	l.mu.Unlock()
	if err := l.cut(segments, 0); err != nil {
		return l.poison(fmt.Errorf("wal: reset to %v: %w", last, err))
	}
	l.base.Store(int64(last))
	l.detached = false
	l.last.Store(int64(last))
	l.size.Store(0)
	return nil
}

// dropTail closes a current file without a record: Roll leaves no other current file. The file holds nothing, so
// a crash may bring it back.
func (l *Log) dropTail() {
	x := l.tail
	if x == nil {
		return
	}
	l.ahead.leave(x)
	l.tail = nil
	l.mu.Lock()
	l.mu.segments = l.mu.segments[:len(l.mu.segments)-1]
	l.mu.Unlock()
	x.discard(&l.o)
}

// locate returns which file holds the txn last, and where that record ends; if last is the state
// before the first record, the first file above it and 0.
func (l *Log) locate(segments []*segment, last proto.Zxid) (file int, end int64, err error) {
	if last > l.LastZxid() {
		return 0, 0, fmt.Errorf("%w: %v is above the last, %v", ErrNotFound, last, l.LastZxid())
	}
	i := needed(segments, last)
	if i < len(segments) && segments[i].first <= last {
		if end, err = l.find(segments[i], last); err != nil || end > 0 {
			return i, end, err
		}
		i++
	}
	if int64(last) != l.base.Load() {
		return 0, 0, fmt.Errorf("%w: %v", ErrNotFound, last)
	}
	return i, 0, nil
}

// find returns where the last record with zxid z ends in the file s, or 0 if there is none.
func (l *Log) find(s *segment, z proto.Zxid) (end int64, err error) {
	path := l.o.path(s.name)
	f, err := l.o.FS.Open(path)
	if err != nil {
		return 0, fmt.Errorf("wal: %w", err)
	}
	defer f.Close()
	limit, err := f.Size()
	if err != nil {
		return 0, fmt.Errorf("wal: %w", err)
	}
	sc, err := newScanner(f, path, limit, z, nil)
	if err != nil {
		return 0, err
	}
	sc.off = s.marks.before(z)
	var r Record
	for {
		ok, err := sc.nextNew(&r)
		if err != nil || !ok || r.Zxid > z {
			return end, err
		}
		if r.Zxid == z {
			end = sc.off
		}
	}
}

// cut removes the files newest first, and shortens the last of these to end if end is not 0. Each step is durable
// before the next begins, so that a crash leaves a prefix of the log.
func (l *Log) cut(segments []*segment, end int64) error {
	l.cuts.Add(1)
	for i := len(segments) - 1; i >= 0; i-- {
		path := l.o.path(segments[i].name)
		if i == 0 && end > 0 {
			return l.shorten(segments[0], path, end)
		}
		if err := l.o.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a purge may have been first
			return err
		}
		if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
			return err
		}
		l.mu.Lock()
		l.mu.segments = slices.DeleteFunc(l.mu.segments, func(s *segment) bool { return s == segments[i] })
		l.mu.Unlock()
	}
	return nil
}

func (l *Log) shorten(s *segment, path string, end int64) error {
	f, err := l.o.FS.OpenWrite(path)
	if err != nil {
		return err
	}
	if err = f.Truncate(end); err == nil {
		err = f.Sync()
	}
	l.mu.Lock()
	s.end = end
	s.marks.cut(end)
	l.mu.Unlock()
	return errors.Join(err, f.Close())
}
