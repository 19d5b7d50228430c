package backup

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
)

// Errors and targets of a restore are those of a replay.
var (
	errDigest = rebuild.ErrDigest
	errStop   = errors.New("stop") // ends a scan
)

// Target is the moment to bring back. The zero value is the newest.
type Target = rebuild.Target

// replayed is a state that was rebuilt.
type replayed struct {
	*rebuild.Replay
	snapshot *Entry
	ensemble uint64 // that the snapshot names, 0 if it names none
}

// load rebuilds the state of one snapshot. It also returns the identity of the ensemble that the snapshot names.
func (b *Backup) load(e *Entry) (*datatree.State, uint64, error) {
	path, err := b.store.fetch(e)
	if err != nil {
		return nil, 0, err
	}
	loader := datatree.NewLoader(datatree.Config{})
	trailer, err := snapshot.Load(b.fs, path, loader)
	if err != nil {
		return nil, 0, err
	}
	state, err := loader.Done(proto.Zxid(e.Last))
	return state, trailer.Ensemble, err
}

// rebuild replays the log over a snapshot up to a target. It returns errGap if a txn is missing on the way, and
// errNoTarget if the target lies before the moment at which the snapshot is exact.
func (b *Backup) rebuild(e *Entry, target Target) (*replayed, error) {
	state, ensemble, err := b.load(e)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range b.Manifest.Entries {
		names = append(names, b.Manifest.Entries[i].File)
	}
	base := rebuild.Base{File: e.File, Exact: proto.Zxid(e.Exact), Digest: e.Digest,
		DigestZxid: proto.Zxid(e.DigestZxid), Open: e.DigestZxid == 0 && e.Exact == e.Last}
	replay, err := rebuild.New(state, base, names, target)
	if err != nil {
		return nil, err
	}
	for i := range b.Manifest.Entries {
		log := &b.Manifest.Entries[i]
		if log.Kind != KindLog || proto.Zxid(log.Last) <= state.LastZxid() {
			continue
		}
		_, err := b.scan(log, func(rec *wal.Record) error { return replay.Apply(rec) })
		if errors.Is(err, rebuild.ErrReached) {
			break
		}
		if errors.Is(err, errGap) && target == (Target{}) && replay.IsExact() {
			break // the backup goes on behind the gap with another snapshot
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log.File, err)
		}
	}
	if err := replay.Exact(); err != nil {
		return nil, err
	}
	return &replayed{replay, e, ensemble}, nil
}
