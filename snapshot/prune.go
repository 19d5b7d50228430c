package snapshot

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/seed94657493/warren/proto"
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
	names, err := s.names(func(zxid proto.Zxid) bool { return zxid < oldest })
	if err != nil {
		return oldest, nil, fmt.Errorf("snapshot: prune: %w", err)
	}
	for _, name := range names {
		if err := s.o.FS.Remove(s.path(name)); err != nil && !isNotExist(err) {
			return oldest, removed, fmt.Errorf("snapshot: prune: %w", err)
		}
		removed = append(removed, name)
		s.warned(name, s.o.Catalogue.DropSnapshot(name))
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

func isNotExist(err error) bool { return errors.Is(err, iofs.ErrNotExist) }
