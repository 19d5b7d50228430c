package wal

import (
	"errors"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// extent is a file that is written to.
//
// Invariant: headerSize <= end; [0, end) is header and records; all bytes after end are zero. [end, written)
// exists on the disk. Only the logger moves end. Only the goroutine that has acquired the extent moves written
// and writes beyond it.
type extent struct {
	path    string
	first   proto.Zxid // from the name, if the file has its final name already
	file    vfs.File   // the logger's
	spare   vfs.File   // the background goroutine's, nil without preallocation
	end     atomic.Int64
	written atomic.Int64
}

// newExtent creates the file temp, with a durable header, in the log's directory. After an error at most the file
// itself is left.
func newExtent(o *Options, temp string) (*extent, error) {
	x := &extent{path: o.path(temp)}
	var err error
	if x.file, err = o.FS.Create(x.path); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	if _, err = x.file.WriteAt(fileHeader(), 0); err == nil {
		err = x.file.Sync()
	}
	// The background goroutine has a handle of its own: the operating system reports a failed write-back once to
	// each handle, so the goroutine's Sync cannot consume the error that the logger must see.
	if err == nil && o.PreallocSize > 0 {
		x.spare, err = o.FS.OpenWrite(x.path)
	}
	if err != nil {
		x.discard(o)
		return nil, fmt.Errorf("wal: create %s: %w", x.path, err)
	}
	x.end.Store(headerSize)
	x.written.Store(headerSize)
	return x, nil
}

// rename gives the file the name of a log that begins with first, durably. If retry, the file is still one that is not
// in use, and the call may be repeated, for another first, too.
func (x *extent) rename(o *Options, first proto.Zxid) (retry bool, err error) {
	if path := o.path(fileName(first)); x.path != path {
		if err := o.FS.Rename(x.path, path); err != nil {
			return errors.Is(err, vfs.ErrNoSpace), fmt.Errorf("wal: %w", err)
		}
		x.path = path
	}
	if err := o.FS.SyncDir(o.Dir); err != nil {
		return errors.Is(err, vfs.ErrTooManyOpen), fmt.Errorf("wal: %w", err)
	}
	x.first = first
	return false, nil
}

// close closes the handles; it does not affect what is durable.
func (x *extent) close(logger *zap.Logger) {
	err := x.file.Close()
	if x.spare != nil {
		err = errors.Join(err, x.spare.Close())
	}
	if err != nil {
		logger.Warn("cannot close a transaction log", zap.String("file", x.path), zap.Error(err))
	}
}

// discard closes and removes a file that is no log yet.
func (x *extent) discard(o *Options) {
	x.close(o.Logger)
	if err := o.FS.Remove(x.path); err != nil {
		o.Logger.Warn("cannot remove a temporary file", zap.String("file", x.path), zap.Error(err))
	}
}

// prepareTail makes sure that there is a file to append to, with the right name if first is to be
// its first record.
func (l *Log) prepareTail(first proto.Zxid) error {
	if l.tail == nil {
		return l.begin(first)
	}
	if l.tail.first == first || l.tail.end.Load() > headerSize {
		return nil
	}
	// The Append that the file was made for found the disk full, and this Append has another first record.
	l.ahead.leave(l.tail)
	retry, err := l.tail.rename(&l.o, first)
	l.ahead.enter(l.tail)
	if retry {
		return err
	}
	if err != nil {
		return l.poison(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.segments[len(l.mu.segments)-1]
	s.name, s.first = fileName(first), first
	return nil
}

// begin makes the prepared file, or a new one, the one to append to.
func (l *Log) begin(first proto.Zxid) error {
	l.mu.Lock()
	if n := len(l.mu.segments); n > 0 && l.mu.segments[n-1].first >= first {
		s := l.mu.segments[n-1]
		l.mu.Unlock()
		return fmt.Errorf("%w: txn %v is to begin a file, but %s exists", ErrName, first, l.o.path(s.name))
	}
	l.mu.Unlock()
	x := l.ahead.take()
	if x == nil {
		var err error
		if x, err = newExtent(&l.o, tempNew); err != nil {
			if errors.Is(err, vfs.ErrNoSpace) {
				return err
			}
			return l.poison(err)
		}
	}
	if retry, err := x.rename(&l.o, first); err != nil {
		if retry {
			l.ahead.giveBack(x)
			return err
		}
		x.close(l.o.Logger)
		return l.poison(err)
	}
	l.mu.Lock()
	l.mu.segments = append(l.mu.segments, &segment{name: fileName(first), first: first, end: headerSize})
	l.mu.Unlock()
	l.tail, l.marks = x, nil
	l.ahead.enter(x)
	return nil
}
