package wal

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Log is the transaction log of one server. The package documentation says which goroutine may call what.
type Log struct {
	o Options

	// Owned by the logger.
	replayed bool
	detached bool    // Replay found records, but only below the state that it continued from
	tail     *extent // the file that Append writes to; nil if the next Append begins one
	unsynced int64   // bytes appended since the last Sync
	marks    marks   // of tail

	ahead  *ahead                // writes zeros in the background
	base   atomic.Int64          // the zxid of the state that the log continues
	last   atomic.Int64          // zxid of the last txn appended or replayed
	size   atomic.Int64          // bytes appended since the last roll
	failed atomic.Pointer[error] // the error that poisoned the log, or ErrClosed
	cuts   atomic.Int64          // how often Truncate or Reset cut something away

	mu struct {
		sync.Mutex
		segments  []*segment // ascending; all but a current one hold records
		iterators map[*Iterator]bool
	}
}

// segment is one file of the log.
type segment struct {
	name  string     // without the path
	first proto.Zxid // from the name
	// end is the end of the durable records, up to which an Iterator may read; -1 if the file lies before the
	// start of Replay and was not read. Guarded by Log.mu.
	end int64
	// marks lie before end. Guarded by Log.mu.
	marks marks
}

// Open lists the files of a log. It reads nothing else, changes nothing and starts nothing. It
// returns ErrName if it cannot tell which files are the log.
func Open(o Options) (*Log, error) {
	l := &Log{o: o.withDefaults()}
	l.ahead = newAhead(l)
	l.mu.iterators = map[*Iterator]bool{}
	var err error
	if l.mu.segments, err = listSegments(&l.o); err != nil {
		return nil, err
	}
	return l, nil
}

// listSegments returns the files of a log in ascending order.
func listSegments(o *Options) ([]*segment, error) {
	names, err := vfs.Files(o.FS, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("wal: list %s: %w", o.Dir, err)
	}
	var segments []*segment
	byZxid := map[proto.Zxid]string{}
	var inexact []string
	for _, name := range names {
		first, exact, ok := FileZxid(name)
		switch {
		case !ok:
			continue
		case !exact:
			inexact = append(inexact, name)
			continue
		case byZxid[first] != "":
			return nil, fmt.Errorf("%w: %s and %s in %s claim the same first txn; move one of them away",
				ErrName, byZxid[first], name, o.Dir)
		}
		byZxid[first] = name
		segments = append(segments, &segment{name: name, first: first, end: -1})
	}
	slices.SortFunc(segments, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
	// A copy may hold txns that no other file holds. If those lie before or between the files, Replay finds them
	// missing; after the last file it could not.
	newest := proto.Zxid(-1)
	if n := len(segments); n > 0 {
		newest = segments[n-1].first
	}
	for _, name := range inexact {
		if first, _, _ := FileZxid(name); first > newest {
			return nil, fmt.Errorf("%w: ZooKeeper would read %s in %s as a log, but %s does not exist; "+
				"rename it to that, or move it away", ErrName, name, o.Dir, fileName(first))
		}
		o.Logger.Warn("ignoring a copy of a transaction log", zap.String("file", o.path(name)))
	}
	return segments, nil
}

// path returns the path of a file in the log's directory.
func (o *Options) path(name string) string { return filepath.Join(o.Dir, name) }

// LastZxid returns the zxid of the last txn in the log, synced or not; if there is none, the zxid of the state
// from which Replay continued.
func (l *Log) LastZxid() proto.Zxid { return proto.Zxid(l.last.Load()) }

// Size returns the bytes appended since the last roll.
func (l *Log) Size() int64 { return l.size.Load() }

// usable returns the error that every call has to return, if there is one.
func (l *Log) usable() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	if !l.replayed {
		panic("wal: the log must be replayed before it is used")
	}
	return nil
}

// poison makes every later call fail: what is on the disk is unknown from now on. Even if a full disk is the cause,
// the error is no vfs.ErrNoSpace, after which a caller would wait for room and try again forever.
func (l *Log) poison(err error) error {
	if errors.Is(err, vfs.ErrNoSpace) {
		err = errors.New(err.Error())
	}
	l.failed.CompareAndSwap(nil, &err)
	return *l.failed.Load()
}

// Append writes a batch of whole framed records with the contiguous zxids first to last, the next ones of the
// log. It returns when the operating system has them; they are durable after Sync. Append does not keep the
// slice. Errors: after vfs.ErrNoSpace, ErrOrder and ErrRecord nothing of the batch remains; any other error
// poisons the log.
func (l *Log) Append(framed []byte, first, last proto.Zxid) error {
	if err := l.usable(); err != nil {
		return err
	}
	if err := checkBatch(framed, l.LastZxid(), first, last); err != nil {
		return err
	}
	if l.unsynced > 0 && l.unsynced+int64(len(framed)) > unsyncedMax {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	if err := l.prepareTail(first); err != nil {
		return err
	}
	x := l.tail
	end := x.end.Load()
	next := end + int64(len(framed))
	if next <= x.written.Load() {
		if n, err := x.file.WriteAt(framed, end); err != nil {
			return l.undo(x, n, x.written.Load(), err)
		}
	} else if err := l.extend(x, framed); err != nil {
		return err
	}
	l.marks.add(first, end)
	x.end.Store(next)
	l.unsynced += int64(len(framed))
	l.last.Store(int64(last))
	l.size.Add(int64(len(framed)))
	l.ahead.advanced(x)
	l.o.Events.Appended(len(framed))
	return nil
}

// extend writes a batch that goes beyond the blocks written so far.
func (l *Log) extend(x *extent, framed []byte) error {
	l.ahead.acquire(x)
	defer l.ahead.release()
	end, written := x.end.Load(), x.written.Load()
	n, err := x.file.WriteAt(framed, end)
	if err != nil {
		return l.undo(x, n, written, err)
	}
	x.written.Store(max(written, end+int64(len(framed))))
	return nil
}

// undo removes the n bytes that a failed write left after the records. Afterwards only zeros follow them up to
// written, where the file ends. The blocks that are zeroed exist already, so this works on a full disk.
func (l *Log) undo(x *extent, n int, written int64, cause error) error {
	cause = fmt.Errorf("wal: append to %s: %w", x.path, cause)
	if !errors.Is(cause, vfs.ErrNoSpace) {
		return l.poison(cause)
	}
	end := x.end.Load()
	if end+int64(n) > written {
		if err := x.file.Truncate(written); err != nil {
			return l.poison(fmt.Errorf("wal: take back an append to %s: %w", x.path, err))
		}
	}
	for to := min(end+int64(n), written); end < to; {
		k, err := x.file.WriteAt(zeros[:min(int64(len(zeros)), to-end)], end)
		if err != nil {
			return l.poison(fmt.Errorf("wal: take back an append to %s: %w", x.path, err))
		}
		end += int64(k)
	}
	// No byte of it may come back: after a crash only zeros or a part of a later Append may follow the records.
	if err := x.file.Sync(); err != nil {
		return l.poison(fmt.Errorf("wal: take back an append to %s: %w", x.path, err))
	}
	return cause
}

// Sync makes everything appended durable. A failure poisons the log.
func (l *Log) Sync() error {
	if err := l.usable(); err != nil {
		return err
	}
	if l.unsynced == 0 {
		return nil
	}
	began := l.o.Now()
	if err := l.tail.file.Sync(); err != nil {
		return l.poison(fmt.Errorf("wal: sync %s: %w", l.tail.path, err))
	}
	if err := l.failed.Load(); err != nil { // a sync of zeros failed meanwhile: this sync may have failed too
		return *err
	}
	took := l.o.Now().Sub(began)
	l.mu.Lock()
	s := l.mu.segments[len(l.mu.segments)-1]
	s.end, s.marks = l.tail.end.Load(), l.marks
	l.mu.Unlock()
	bytes := l.unsynced
	l.unsynced = 0
	l.ahead.synced(bytes)
	l.o.Events.Synced(took, bytes)
	return nil
}

// Roll syncs and finishes the current file; the next Append begins another. If the current file has
// no record, nothing happens.
func (l *Log) Roll() error {
	if err := l.Sync(); err != nil {
		return err
	}
	if l.tail == nil || l.tail.end.Load() == headerSize {
		return nil
	}
	l.seal()
	l.size.Store(0)
	return nil
}

// seal cuts the zeros after the last record and closes the current file. All records are synced, so no failure
// here can lose a txn.
func (l *Log) seal() {
	x := l.tail
	l.ahead.leave(x)
	l.tail = nil
	if x.written.Load() > x.end.Load() || l.o.PreallocSize > 0 {
		if err := x.file.Truncate(x.end.Load()); err != nil {
			l.o.Logger.Warn("cannot cut the zeros off a transaction log", zap.String("file", x.path), zap.Error(err))
		}
	}
	x.close(l.o.Logger)
}

// Close syncs, finishes the current file and stops the background goroutine. If the log was poisoned it returns
// that error.
func (l *Log) Close() error {
	var err error
	if failure := l.failed.Load(); failure != nil {
		if errors.Is(*failure, ErrClosed) {
			return nil
		}
		err = *failure
	} else if l.replayed {
		err = l.Sync()
	}
	switch x := l.tail; {
	case x == nil:
	case err != nil:
		l.ahead.leave(x)
		l.tail = nil
		x.close(l.o.Logger)
	case x.end.Load() == headerSize:
		l.dropTail()
	default:
		l.seal()
	}
	l.ahead.stop()
	closed := error(ErrClosed)
	l.failed.CompareAndSwap(nil, &closed)
	return err
}

// FileInfo describes one file of the log.
type FileInfo struct {
	Name  string     // without the path
	First proto.Zxid // of the first record, from the name
	Size  int64      // bytes, zeros included
}

// Files returns the files of the log, ascending.
func (l *Log) Files() ([]FileInfo, error) {
	l.mu.Lock()
	segments := slices.Clone(l.mu.segments)
	l.mu.Unlock()
	files := make([]FileInfo, 0, len(segments))
	for _, s := range segments {
		info, err := l.o.FS.Stat(l.o.path(s.name))
		if err != nil {
			return nil, fmt.Errorf("wal: %w", err)
		}
		files = append(files, FileInfo{Name: s.name, First: s.first, Size: info.Size()})
	}
	return files, nil
}
