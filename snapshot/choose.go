package snapshot

import (
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// AtOrBelow returns the newest snapshot that is not newer than z, or ErrNone.
func (s *Store) AtOrBelow(z proto.Zxid) (Meta, error) {
	metas, err := s.List()
	if err != nil {
		return Meta{}, err
	}
	if i := slices.IndexFunc(metas, func(m Meta) bool { return m.Zxid <= z }); i >= 0 {
		return metas[i], nil
	}
	return Meta{}, fmt.Errorf("%w %s at or below %v", ErrNone, s.o.Dir, z)
}

// RemoveAbove durably removes every snapshot newer than z, the newest first: what it holds was never agreed on. Source: TRUNC.
func (s *Store) RemoveAbove(z proto.Zxid) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	metas, err := s.List()
	if err != nil {
		return err
	}
	for _, m := range metas {
		if m.Zxid <= z {
			continue
		}
		if err := s.o.FS.Remove(s.path(m.Name)); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if err := s.o.FS.SyncDir(s.o.Dir); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if err := s.o.Catalogue.DropSnapshot(m.Name); err != nil {
			s.o.Warn(m.Name, err)
		}
	}
	return nil
}
