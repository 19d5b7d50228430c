package snapshot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// RemoveAbove durably removes every snapshot newer than z, damaged or not, newest first: their txns were never
// committed. Source: TRUNC.
func (s *Store) RemoveAbove(z proto.Zxid) error {
	return s.removeNewestFirst(func(zxid proto.Zxid) bool { return zxid > z })
}

// RemoveBelow durably removes every snapshot older than z, damaged or not, newest first: the log that made them
// exact and led from them to z is gone. Source: SNAP.
func (s *Store) RemoveBelow(z proto.Zxid) error {
	return s.removeNewestFirst(func(zxid proto.Zxid) bool { return zxid < z })
}

func (s *Store) removeNewestFirst(gone func(proto.Zxid) bool) error {
	s.o.Writing.Lock()
	defer s.o.Writing.Unlock()
	names, err := s.names(gone)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	for _, name := range slices.Backward(names) {
		if err := s.o.FS.Remove(s.path(name)); err != nil && !isNotExist(err) {
			return fmt.Errorf("snapshot: %w", err)
		}
		if err := s.o.FS.SyncDir(s.o.Dir); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		s.warned(name, s.o.Catalogue.DropSnapshot(name))
	}
	return nil
}

// names returns the names of the snapshots, whole or not, whose zxids are chosen, the oldest first.
func (s *Store) names(chosen func(proto.Zxid) bool) ([]string, error) {
	names, err := vfs.Files(s.o.FS, s.o.Dir)
	names = slices.DeleteFunc(names, func(name string) bool {
		zxid, _, ok := ParseName(name)
		return !ok || !chosen(zxid)
	})
	slices.SortFunc(names, func(a, b string) int {
		x, _, _ := ParseName(a)
		y, _, _ := ParseName(b)
		return cmp.Compare(x, y)
	})
	return names, err
}
