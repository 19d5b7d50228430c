package backup

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
)

// ErrDigest means that the tree is not the one that the txns speak of.
var ErrDigest = errors.New("backup: digest of the tree differs")

// errStop ends a replay at its target.
var errStop = errors.New("stop")

// Target is the moment to bring back. The zero value is the newest.
type Target struct {
	Zxid proto.Zxid // up to this txn; 0 is no limit
	// TimeMs is up to the first txn that was made later, in ms since 1970; 0 is no limit.
	TimeMs int64
}

func (t Target) includes(h *proto.TxnHeader) bool {
	return (t.Zxid == 0 || h.Zxid <= t.Zxid) && (t.TimeMs == 0 || h.Time <= t.TimeMs)
}

// replayed is a state that was rebuilt.
type replayed struct {
	state    *datatree.State
	snapshot *Entry
	chain    *snapshot.Chain // to the newer ones
	ensemble uint64          // that the snapshot names, 0 if it names none
	lastTime int64           // of the last txn, 0 if there was none
	checked  int             // txns whose digest was compared
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

// rebuild replays the log over a snapshot up to a target. It returns ErrGap if a txn is missing on the way, and
// ErrNoTarget if the target lies before the moment at which the snapshot is exact.
func (b *Backup) rebuild(e *Entry, target Target) (*replayed, error) {
	state, ensemble, err := b.load(e)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range b.Manifest.Entries {
		names = append(names, b.Manifest.Entries[i].File)
	}
	r := &replayed{state: state, snapshot: e, ensemble: ensemble,
		chain: snapshot.ChainOver(names, proto.Zxid(e.Last), target.Zxid)}
	if err = r.compare(e.Digest, proto.Zxid(e.DigestZxid)); err != nil {
		return nil, err
	}
	reached := false
	for i := range b.Manifest.Entries {
		log := &b.Manifest.Entries[i]
		if log.Kind != KindLog || proto.Zxid(log.Last) <= state.LastZxid() {
			continue
		}
		_, err := b.scan(log, func(rec *wal.Record) error { return r.apply(rec, target) })
		if reached = errors.Is(err, errStop); reached {
			break
		}
		if errors.Is(err, ErrGap) && target == (Target{}) && state.LastZxid() >= proto.Zxid(e.Exact) {
			break // the backup goes on behind the gap with another snapshot
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log.File, err)
		}
	}
	switch last := state.LastZxid(); {
	case last >= proto.Zxid(e.Exact):
	case reached:
		return nil, fmt.Errorf("%w: the target is no later than %v, and %s is exact only from %v", ErrNoTarget,
			last, e.File, e.Exact)
	default:
		return nil, fmt.Errorf("%w: %s may hold txns up to %v and cannot be made exact at %v", ErrGap,
			e.File, e.Exact, last)
	}
	return r, nil
}

// apply applies one txn, if it is new, and compares digests where the state is exact.
func (r *replayed) apply(rec *wal.Record, target Target) error {
	last := r.state.LastZxid()
	if rec.Zxid <= last {
		return nil
	}
	var h proto.TxnHeader
	in := proto.NewReader(rec.Payload)
	if h.Decode(&in); in.Err() != nil {
		return in.Err()
	}
	if err := r.chain.Logged(rec.Zxid); err != nil {
		return fmt.Errorf("%w: %v comes after %v: %w", ErrGap, rec.Zxid, last, err)
	}
	if !target.includes(&h) {
		return errStop
	}
	if !follows(last, rec.Zxid) {
		return fmt.Errorf("%w: %v comes after %v", ErrGap, rec.Zxid, last)
	}
	_, applied, err := r.state.Apply(rec.Payload, nil, nil, false)
	if err != nil {
		return fmt.Errorf("txn %v: %w", rec.Zxid, err)
	}
	r.lastTime = h.Time
	if rec.Zxid > proto.Zxid(r.snapshot.Exact) {
		if applied.DigestMismatch {
			return fmt.Errorf("%w: after txn %v", ErrDigest, rec.Zxid)
		}
		r.checked++
	}
	return r.compare(r.snapshot.Digest, proto.Zxid(r.snapshot.DigestZxid))
}

// compare checks the digest of a snapshot when the replay has come to its zxid.
func (r *replayed) compare(digest int64, at proto.Zxid) error {
	if at == 0 || r.state.LastZxid() != at || r.state.Digest() == digest {
		return nil
	}
	return fmt.Errorf("%w: at %v, where %s has %d, it is %d", ErrDigest, at, r.snapshot.File, digest, r.state.Digest())
}
