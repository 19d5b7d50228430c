package snapshot

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Prune keeps the newest keep snapshots that verify and removes all that are older than the oldest of them,
// oldest first. It returns the zxid of that oldest one, the argument of wal.Log.Purge, and the names it removed,
// also with an error. Damaged snapshots do not count; those newer than the oldest kept one stay. Files that are
// in the catalogue with their size are not read again.
//
// It returns ErrNone, and removes nothing, if no snapshot verifies: then no log may be purged either. Source:
// storage 9.
func (s *Store) Prune(keep int) (oldest proto.Zxid, removed []string, err error) {
	if keep < 1 {
		return 0, nil, fmt.Errorf("snapshot: prune: cannot keep %d snapshots", keep)
	}
	s.o.Writing.Lock()
	defer s.o.Writing.Unlock()
	oldest, err = s.oldestKept(keep)
	if err != nil {
		return 0, nil, err
	}
	names, err := vfs.Files(s.o.FS, s.o.Dir)
	if err != nil {
		return oldest, nil, fmt.Errorf("snapshot: prune: %w", err)
	}
	for _, name := range olderThan(names, oldest) {
		if err := s.o.FS.Remove(s.path(name)); err != nil && !isNotExist(err) {
			return oldest, removed, fmt.Errorf("snapshot: prune: %w", err)
		}
		removed = append(removed, name)
		if err := s.o.Catalogue.DropSnapshot(name); err != nil {
			s.o.Warn(name, err)
		}
	}
	if len(removed) > 0 {
		if err := s.o.FS.SyncDir(s.o.Dir); err != nil {
			return oldest, removed, fmt.Errorf("snapshot: prune: %w", err)
		}
	}
	return oldest, removed, nil
}

// oldestKept returns the zxid of the oldest of the newest keep snapshots that verify.
func (s *Store) oldestKept(keep int) (oldest proto.Zxid, err error) {
	metas, err := s.List()
	if err != nil {
		return 0, err
	}
	good := 0
	for _, m := range metas {
		if !m.Verified {
			if err := s.Verify(m); err != nil {
				s.o.Warn(m.Name, err)
				continue
			}
		}
		oldest = m.Zxid
		if good++; good == keep {
			break
		}
	}
	if good == 0 {
		return 0, fmt.Errorf("%w %s that verifies", ErrNone, s.o.Dir)
	}
	return oldest, nil
}

// olderThan returns the names of snapshots, whole or not, below zxid, in ascending order.
func olderThan(names []string, zxid proto.Zxid) []string {
	type old struct {
		zxid proto.Zxid
		name string
	}
	var olds []old
	for _, name := range names {
		if z, _, ok := ParseName(name); ok && z < zxid {
			olds = append(olds, old{z, name})
		}
	}
	slices.SortFunc(olds, func(a, b old) int {
		if a.zxid != b.zxid {
			return int(min(max(a.zxid-b.zxid, -1), 1))
		}
		return 0
	})
	result := make([]string, len(olds))
	for i, o := range olds {
		result[i] = o.name
	}
	return result
}

func isNotExist(err error) bool { return errors.Is(err, iofs.ErrNotExist) }
