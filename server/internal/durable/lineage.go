package durable

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/zab"
)

// Lineage is where the history of this server comes from, as far as meta.db knows. If the database is missing, only
// the identity of the ensemble remains. Without meta.db the snapshot tells that identity.
func (s *Disk) Lineage() *zab.Lineage {
	l, err := s.keptLineage()
	if err != nil {
		s.Log.Warn("the lineage in meta.db cannot be read: the histories of the servers are compared without it",
			zap.Error(err))
	}
	switch {
	case s.Missing:
		return &zab.Lineage{Ensemble: l.Ensemble, Final: l.Final}
	case l.Empty() && s.origin != 0:
		return &zab.Lineage{Ensemble: s.origin, Final: true}
	}
	return l
}

// keptLineage is the lineage in meta.db, an empty one if there is none.
func (s *Disk) keptLineage() (*zab.Lineage, error) {
	text := s.Meta.Lineage()
	if text == "" {
		return &zab.Lineage{}, nil
	}
	l, err := zab.ParseLineage([]byte(text))
	if err != nil {
		return &zab.Lineage{}, err
	}
	return l, nil
}

// EnsembleIdentity is the identity of the ensemble, 0 if this server does not know it for sure.
func (s *Disk) EnsembleIdentity() uint64 {
	if l, err := s.keptLineage(); err == nil && l.Final {
		return l.Ensemble
	}
	return 0
}

// goAlone removes the marks of the epochs to which a standalone server adds txns: another server with the same mark
// does not have these txns.
func (s *Disk) goAlone(last proto.Zxid) error {
	l, err := s.keptLineage()
	if err != nil || l.Empty() {
		return nil // without a readable lineage there is no mark to remove
	}
	for i := range l.Reigns {
		if r := &l.Reigns[i]; r.Epoch >= last.Epoch() {
			r.Leader, r.Mark, r.Base = -1, 0, 0
		}
	}
	return s.Meta.SetLineage(Encoded(l))
}

// BeginAnew makes a state that a standalone server has received the beginning of a new history, durably. The new
// epoch is after all known epochs, and its first txn ends all sessions. origin describes the received state. After
// an error the old state stays in use, or the server ends. The journal goroutine calls it.
func (j *Journal) BeginAnew(state *datatree.State, origin datadir.Origin) error {
	d := j.srv
	known := max(origin.Last.Epoch(), d.Store.LastZxid().Epoch(), d.Meta.Epochs().Accepted)
	history, err := datadir.After(known, origin)
	if err != nil {
		return err
	}
	// A crash or a full disk may leave the promise alone, and with this one the server would not start.
	if e := d.Meta.Epochs(); e.Current > 0 && history.Epoch-e.Current > meta.EpochLeap {
		return fmt.Errorf("%w: the snapshot is of epoch %d, too far above currentEpoch %d of this server: "+
			"restore it into an empty directory", meta.ErrEpoch, origin.Last.Epoch(), e.Current)
	}
	state.EndSessions(history.First)
	if err := d.Meta.SetAccepted(history.Epoch); err != nil {
		return err
	}
	if err := d.writeState(state, history.First); err != nil {
		if e := d.Snaps.RemoveAbove(history.First - 1); e != nil { // a start would take it, and lose what comes now
			d.Fatal("taking back a restore", errors.Join(err, e))
		}
		return err
	}
	if err = j.log.Reset(history.First); err == nil {
		j.txns, j.before = 0, 0
		if err = d.Meta.SetCurrent(history.Epoch, history.Lineage); err == nil {
			err = d.goAlone(history.First)
		}
	}
	if err != nil {
		d.Fatal("beginning a new history after a restore", err)
	}
	return err
}
