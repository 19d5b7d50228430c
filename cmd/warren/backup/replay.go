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

// errStop ends a scan.
var errStop = errors.New("stop")

// Target is the moment to bring back. The zero value is the newest.
type Target = rebuild.Target

// replayed is a state that was rebuilt.
type replayed struct {
	*rebuild.Replay
	snapshot *Entry
	ensemble uint64 // that the snapshot names, 0 if it names none
	wrong    error  // the digest that differs, if the state is taken although one does
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

// rebuild replays the log over a snapshot up to a target. It returns rebuild.ErrGap if a txn is missing on the
// way, and rebuild.ErrNoTarget if the target lies before the moment at which the snapshot is exact.
//
// Of what ZooKeeper has written, digests that differ are no error: it computes others for paths that are not ASCII
// where the character set of the machine is not UTF-8. That the files are those that were copied, their checksums say.
func (b *Backup) rebuild(e *Entry, target Target) (*replayed, error) {
	r, wrong := b.replay(e, target, false)
	if !errors.Is(wrong, rebuild.ErrDigest) {
		return r, wrong
	}
	r, err := b.replay(e, target, true)
	if err != nil || r.ensemble != 0 {
		return nil, wrong
	}
	r.wrong = fmt.Errorf("%w: ZooKeeper computes other digests where paths are not ASCII and its character set is "+
		"not UTF-8, as with LC_ALL=C; if that is not so here, compare the tree with another backup", wrong)
	return r, nil
}

// replay is rebuild, with digests or, if it is lenient, without.
func (b *Backup) replay(e *Entry, target Target, lenient bool) (*replayed, error) {
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
	if lenient {
		base.DigestZxid, base.Differs = 0, base.DigestZxid
	}
	replay, err := rebuild.New(state, base, names, target)
	if err != nil {
		return nil, err
	}
	replay.Lenient = lenient
	for log := range b.Manifest.of(KindLog) {
		if proto.Zxid(log.Last) <= state.LastZxid() {
			continue
		}
		_, err := b.scan(log, func(rec *wal.Record) error { return replay.Apply(rec) })
		if errors.Is(err, rebuild.ErrReached) {
			break
		}
		if errors.Is(err, rebuild.ErrGap) && target == (Target{}) && replay.IsExact() {
			break // the backup goes on behind the gap with another snapshot
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log.File, err)
		}
	}
	if err := replay.Exact(); err != nil {
		return nil, err
	}
	return &replayed{Replay: replay, snapshot: e, ensemble: ensemble}, nil
}
