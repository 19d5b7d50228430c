package durable

import (
	"errors"
	"fmt"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

// adviceEnd is what to do about a log that has lost its end.
const adviceEnd = "what it held may be acknowledged: if other servers of the ensemble are healthy, move the " +
	"version-2 directories of this server away and let it synchronize; if there are none, restore a backup"

// judge decides whether a state that was rebuilt may be used. Snapshots that nothing may take are put aside.
//
// A txn is durable here before its effects are in a snapshot and before it counts as committed. So a log that ends
// before either has lost its end, unless it was written without forceSync. A voter that begins with less than it has
// acknowledged could take committed txns from the ensemble. A server that is blank has no part in decisions, and is
// being given what it lacks.
func (s *Disk) judge(f *rebuild.Found) error {
	l, err := s.keptLineage()
	committed := l.Committed()
	switch err := f.LostEnd(committed); {
	case err != nil && s.Config.Distributed() && s.Config.ForceSync && !s.isBlank():
		return fmt.Errorf("%w; %s", err, adviceEnd)
	case err != nil || !f.IsExact():
		s.Log.Warn("the snapshot is newer than the end of the log: part of the log is missing", zap.Error(err),
			zap.Stringer("zxid", f.State.LastZxid()), zap.Stringer("snapshot_zxid", f.ExactFrom()))
	}
	if err := s.lostMiddle(f, l); err != nil && s.Config.Distributed() && !s.isBlank() {
		return fmt.Errorf("%w; %s", err, adviceEnd)
	}
	for i := range f.Passed {
		s.putAside(&f.Passed[i])
	}
	if f.Wrong != nil || f.Differing > 0 {
		s.Log.Error("digest of the tree differs from the log's or the snapshot's", zap.String("remedy",
			"compare the servers with warren doctor before any is emptied"),
			zap.String("file", f.Name), zap.Int("txns", f.Differing), zap.Error(f.Wrong))
	}
	unproven := (err != nil || !proves(l, f.Meta.Zxid, f.State.LastZxid())) && s.Config.Distributed()
	s.renew = f.Wrong != nil || !f.IsExact() || len(f.Passed) > 0 || unproven
	return nil
}

// proves reports whether a lineage tells that between a snapshot at base and the last txn no txn without effect is
// missing where an epoch ends. One that is lost, or an earlier one, does not. That of the leader will, and would stop
// the next start.
func proves(l *zab.Lineage, base, last proto.Zxid) bool {
	return last == 0 || !l.Empty() && (base.Epoch() == last.Epoch() || l.Settled.Epoch() >= last.Epoch())
}

// lostMiddle returns an error if txns are missing in the middle of the log. Between two epochs the zxids do not tell,
// and the lineage that would may be lost, or be an earlier one. Then the trees that the txns speak of differ, from the
// first digest of an epoch on, or because a newer snapshot, which holds what is missing, is damaged. Other trees have
// another cause: the leader had one.
func (s *Disk) lostMiddle(f *rebuild.Found, l *zab.Lineage) error {
	if f.Wrong == nil || f.Differing == 0 {
		return nil
	}
	for i := range f.Passed {
		if p := &f.Passed[i]; !p.IsWhole() {
			return fmt.Errorf("%w; the newer %s cannot be taken: %w", f.Wrong, p.Name, p.Err)
		}
	}
	epoch := f.FirstDiffering.Epoch()
	if f.Boundary >= 0 && !l.Begins(epoch, f.Boundary) {
		return fmt.Errorf("%w: %w before epoch %d", f.Wrong, rebuild.ErrGap, epoch)
	}
	return nil
}

// putAside gives a snapshot that is whole, but not what its name or its digest says, a name by which nothing takes it
// for a snapshot, and so does it to a file that was never one. A damaged one stays: nothing can take it.
func (s *Disk) putAside(p *rebuild.Passed) {
	if !p.IsWhole() && !p.Junk {
		s.Log.Warn("skipping an unusable snapshot", zap.String("file", p.Name), zap.Error(p.Err))
		return
	}
	aside := snapshot.Aside + p.Name
	err := s.FS.Rename(filepath.Join(s.SnapDir(), p.Name), filepath.Join(s.SnapDir(), aside))
	if err == nil {
		err = errors.Join(s.FS.SyncDir(s.SnapDir()), s.Meta.DropSnapshot(p.Name))
	}
	s.Log.Error("a snapshot was put aside, and an older one is used with the log", zap.String("file", p.Name),
		zap.String("as", aside), zap.NamedError("because", p.Err), zap.Error(err))
}

// joins returns how the epochs of the history follow each other, as far as meta.db knows, for rebuild.Source.
func (s *Disk) joins() func(last, next proto.Zxid) error {
	l, err := s.keptLineage()
	if err != nil || s.isBlank() {
		return nil
	}
	return l.Joins
}
