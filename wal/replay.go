package wal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Replay reads the log, hands every record with a zxid >= from to fn in order, and makes the log ready for
// Append. from is the zxid after that of the loaded snapshot, 1 without one. It returns the zxid of the last
// record, or from-1 if there is none.
//
// Files that a snapshot at from-1 does not need are not read. A torn tail is cut off, and last files without a
// record are removed; these changes, and all records handed to fn, are durable when Replay returns. It returns
// *Error with ErrCorrupt or ErrGap if a txn may be missing or wrong; then it has changed nothing. An error of fn
// is returned wrapped.
func (l *Log) Replay(from proto.Zxid, fn func(*Record) error) (last proto.Zxid, err error) {
	if err := l.failed.Load(); err != nil {
		return 0, *err
	}
	if l.replayed {
		panic("wal: Replay called twice")
	}
	w := walk{o: &l.o, from: from, fn: fn, last: max(from-1, 0)}
	if err := w.run(l.mu.segments); err != nil {
		return 0, err
	}
	if err := w.repair(); err != nil {
		return 0, l.poison(err)
	}
	for _, words := range w.repeated {
		l.o.Logger.Warn("a ZooKeeper server has logged txns a second time", zap.String("log", words))
	}
	l.mu.Lock()
	l.mu.segments = w.segments
	l.mu.Unlock()
	l.base.Store(int64(max(from-1, 0)))
	l.detached = w.isDetached()
	l.last.Store(int64(w.last))
	l.replayed = true
	l.ahead.start()
	return w.last, nil
}

// Detached reports whether Replay found records, but none at the zxid before from or later: then nothing says
// that later appends continue the found records. A crash during the installation of a snapshot leaves that state.
// ZooKeeper leaves it too, because it keeps its old files. Reset removes them.
func (l *Log) Detached() bool { return l.detached }

// isDetached computes Detached. ZooKeeper takes a snapshot at counter 0 when an epoch has begun and nothing has
// been logged in it: that snapshot needs no record of its own.
func (w *walk) isDetached() bool {
	base := w.from - 1
	return w.any && w.prev < base && !(base.Counter() == 0 && w.prev.Epoch() < base.Epoch())
}

// Report is what Verify found.
type Report struct {
	Records int        // with a zxid >= from
	First   proto.Zxid // of these
	Last    proto.Zxid // of these, from-1 if there are none
	// Repairs says what Replay would change, in words.
	Repairs []string
	// Repeated says which files have txns a second time, in words. Replay steps over them and leaves them.
	Repeated []string
}

// Verify does what Replay does, but changes nothing. fn may be nil.
func Verify(o Options, from proto.Zxid, fn func(*Record) error) (Report, error) {
	o = o.withDefaults()
	segments, err := listSegments(&o)
	if err != nil {
		return Report{}, err
	}
	var r Report
	w := walk{o: &o, from: from, last: max(from-1, 0), fn: func(rec *Record) error {
		if r.Records++; r.Records == 1 {
			r.First = rec.Zxid
		}
		if fn == nil {
			return nil
		}
		return fn(rec)
	}}
	err = w.run(segments)
	r.Last, r.Repeated = w.last, w.repeated
	if err != nil {
		return r, err
	}
	for _, s := range w.removals {
		r.Repairs = append(r.Repairs, fmt.Sprintf("remove %s: it has no record", o.path(s.name)))
	}
	if s := w.tail; s != nil && w.torn == s {
		r.Repairs = append(r.Repairs,
			fmt.Sprintf("cut %s at offset %d: torn tail, the write after txn %v did not finish",
				o.path(s.name), s.end, w.prev))
	}
	return r, nil
}

// walk reads the files of a log in order and judges them.
type walk struct {
	o    *Options
	from proto.Zxid
	fn   func(*Record) error

	segments []*segment // the segments that stay
	removals []*segment // last files without a record
	sizes    map[*segment]int64
	buf      []byte

	prev proto.Zxid // of the last record read
	any  bool       // whether prev is one
	last proto.Zxid // of the last record handed over
	// tail is the last file that has a record; torn is the last file read, if it ends in the beginning of an
	// unfinished write.
	tail, torn *segment
	// repeated says which files repeat txns, in words.
	repeated []string
	// stopFile and stopOffset are where the records of the last file before this one end.
	stopFile   string
	stopOffset int64
}

// run reads the files. It changes nothing on the disk.
func (w *walk) run(segments []*segment) error {
	w.segments = slices.Clone(segments)
	w.sizes = map[*segment]int64{}
	for _, s := range w.segments {
		info, err := w.o.FS.Stat(w.o.path(s.name))
		if err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		if info.IsDir() {
			return fmt.Errorf("%w: %s is a directory; move it away", ErrName, w.o.path(s.name))
		}
		w.sizes[s] = info.Size()
	}
	n := len(w.segments)
	if n > 0 && w.sizes[w.segments[n-1]] < headerSize {
		n--
	}
	first := needed(w.segments[:n], w.from)
	for i := range w.segments[first:n] {
		if err := w.file(first + i); err != nil {
			return err
		}
	}
	for n > first && w.segments[n-1] != w.tail {
		n--
	}
	w.segments, w.removals = w.segments[:n:n], w.segments[n:]
	return nil
}

// misnamed refuses a file that does not begin with the txn in its name. By the names a purge chooses the files that it
// removes, and everyone who looks for a txn the file to look in.
func (w *walk) misnamed(s *segment, first proto.Zxid) error {
	path, right := w.o.path(s.name), fileName(first)
	what := "rename it to " + right
	if slices.ContainsFunc(w.segments, func(o *segment) bool { return o.name == right }) {
		what = "there is a file " + right + ", too; if other servers of the ensemble are healthy, move the " +
			"version-2 directories of this server away and let it synchronize"
	}
	return fmt.Errorf("%w: %s begins with txn %v and not with the one in its name: %s", ErrName, path, first, what)
}

// needed returns the index of the first file that a state just before from needs: the last one
// that begins at from or before, or the first of all. Source: storage 4.7.
func needed(segments []*segment, from proto.Zxid) int {
	i, _ := slices.BinarySearchFunc(segments, from, func(s *segment, z proto.Zxid) int {
		if s.first <= z {
			return -1
		}
		return 1
	})
	return max(0, i-1)
}

// file reads the file with this index, which may be the last of all.
func (w *walk) file(i int) error {
	s, isLast := w.segments[i], i == len(w.segments)-1
	path, size := w.o.path(s.name), w.sizes[s]
	f, err := w.o.FS.Open(path)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	defer f.Close()
	sc, err := newScanner(f, path, size, max(w.prev, s.first-1), w.buf)
	if err != nil {
		return err
	}
	first := firsts{w: w, index: i}
	defer first.close()
	var r Record
	ok := true
	for ok {
		if ok, err = sc.next(&r); err != nil || !ok {
			break
		}
		if w.tail != s && r.Zxid != s.first {
			return w.misnamed(s, r.Zxid)
		}
		w.tail = s
		if r.Repeated {
			err = first.compare(&r)
		} else {
			s.marks.add(r.Zxid, r.Offset)
			err = w.record(&r)
		}
		if err != nil {
			return err
		}
	}
	if first.compared > 0 && s.first > w.prev {
		return corrupt(path, headerSize, s.first, "the file holds only txns that other files hold, up to %v", w.prev)
	}
	if first.compared > 0 {
		w.repeated = append(w.repeated,
			fmt.Sprintf("%s repeats %d txns, which do not count", path, first.compared))
	}
	torn := true
	if err == nil {
		torn, err = ending(f, path, sc.off, size, sc.last)
	}
	if err != nil && isLast {
		torn, err = true, unfinished(f, path, sc.off, size, sc.last, w.from, err)
	}
	if err != nil {
		return err
	}
	w.torn = nil
	if torn {
		w.torn = s
	}
	s.end = sc.off
	w.stopFile, w.stopOffset, w.buf = path, sc.off, sc.buf
	return nil
}

// record judges the zxid of a record and hands it over.
func (w *walk) record(r *Record) error {
	switch z := r.Zxid; {
	case w.any && z == w.prev: // ZooKeeper logs an undecodable request under the zxid before it
	case w.any && z < w.prev:
		return corrupt(r.File, r.Offset, z, "the record comes after txn %v", w.prev)
	case z <= w.from: // the snapshot has the txns before it
	case w.any && w.prev >= w.from && !Follows(w.prev, z):
		reason := fmt.Sprintf("the record comes after txn %v, those in between are missing", w.prev)
		if r.Offset == headerSize {
			reason += fmt.Sprintf("; records end in %s at offset %d", w.stopFile, w.stopOffset)
		}
		return &Error{Kind: ErrCorrupt, File: r.File, Offset: r.Offset, Zxid: z, Reason: reason}
	case !(w.any && w.prev >= w.from) && !Follows(max(w.from-1, 0), z):
		return &Error{Kind: ErrGap, File: r.File, Offset: r.Offset, Zxid: z,
			Reason: fmt.Sprintf("it is the first record after the snapshot at %v, those in between are missing",
				w.from-1)}
	}
	w.prev, w.any = r.Zxid, true
	if r.Zxid < w.from {
		return nil
	}
	w.last = r.Zxid
	if w.fn == nil {
		return nil
	}
	if err := w.fn(r); err != nil {
		return fmt.Errorf("wal: txn %v in %s at offset %d: %w", r.Zxid, r.File, r.Offset, err)
	}
	return nil
}

// repair removes all bytes and files that are not part of the log and makes the rest durable: the process that
// wrote it may have been killed before it did. A crash in between leaves a log that is repaired again.
func (w *walk) repair() error {
	if err := removeTemporary(w.o); err != nil {
		return err
	}
	for _, s := range slices.Backward(w.removals) {
		path := w.o.path(s.name)
		w.o.Logger.Info("removing a transaction log without records", zap.String("file", path))
		if err := w.o.FS.Remove(path); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
	}
	if s := w.tail; s != nil && w.torn == s {
		w.o.Logger.Warn("cutting off a write that did not finish", zap.String("file", w.o.path(s.name)),
			zap.Int64("offset", s.end), zap.Stringer("zxid", w.prev))
	}
	for _, s := range w.segments {
		if s.end < 0 {
			continue
		}
		if err := w.settle(s, s == w.tail); err != nil {
			return err
		}
	}
	if err := w.o.FS.SyncDir(w.o.Dir); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// settle makes a file durable; with cut it first cuts off the bytes after its records.
func (w *walk) settle(s *segment, cut bool) error {
	path := w.o.path(s.name)
	f, err := w.o.FS.OpenWrite(path)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	if cut && w.sizes[s] > s.end {
		err = f.Truncate(s.end)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("wal: repair %s: %w", path, err)
	}
	return nil
}

// removeTemporary removes the files that an interrupted server was preparing.
func removeTemporary(o *Options) error {
	names, err := vfs.Files(o.FS, o.Dir)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", o.Dir, err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		if err := o.FS.Remove(o.path(name)); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
	}
	return nil
}
