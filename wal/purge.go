package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Purge removes the files that the oldest kept snapshot, at oldest, does not need: all before the last file that
// begins at oldest or before. It keeps files that an open Iterator has still to read. It returns the names
// removed, oldest first, also with an error. Any goroutine may call it. A file that cannot be removed is tried
// again by the next Purge. Source: storage 9.
func (l *Log) Purge(oldest proto.Zxid) (removed []string, err error) {
	l.mu.Lock()
	n := needed(l.mu.segments, oldest)
	for it := range l.mu.iterators {
		n = min(n, needed(l.mu.segments, it.first))
	}
	gone := slices.Clone(l.mu.segments[:n])
	l.mu.segments = slices.Delete(l.mu.segments, 0, n)
	l.mu.Unlock()
	for i, s := range gone {
		if err := l.o.FS.Remove(l.o.path(s.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.mu.Lock()
			// They are the oldest: other goroutines only append.
			l.mu.segments = slices.Insert(l.mu.segments, 0, gone[i:]...)
			l.mu.Unlock()
			return removed, fmt.Errorf("wal: purge: %w", err)
		}
		removed = append(removed, s.name)
	}
	if len(removed) == 0 {
		return nil, nil
	}
	l.ahead.retry()
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		return removed, fmt.Errorf("wal: purge: %w", err)
	}
	return removed, nil
}
