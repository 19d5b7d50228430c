package durable

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/zab"
)

// Lineage is where the history of this server comes from, as far as meta.db knows. Of a database that is missing only the identity of
// the ensemble is left. Without meta.db that identity is in the snapshot.
func (s *Disk) Lineage() *zab.Lineage {
	l, err := s.keptLineage()
	if err != nil {
		s.Log.Warn("the lineage in meta.db cannot be read: the histories of the servers are compared without it", zap.Error(err))
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

// ensembleIdentity is the identity of the ensemble, 0 if this server does not know it for sure.
func (s *Disk) ensembleIdentity() uint64 {
	if l, err := s.keptLineage(); err == nil && l.Final {
		return l.Ensemble
	}
	return 0
}
