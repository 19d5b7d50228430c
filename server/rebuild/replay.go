package rebuild

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
)

// Errors of a replay.
var (
	// ErrDigest means that the tree is not the one that the txns speak of.
	ErrDigest = errors.New("digest of the tree differs")
	// ErrGap means that txns are missing between what there is and what is needed.
	ErrGap = errors.New("txns are missing")
	// ErrNoTarget means that the target cannot be reached from a snapshot.
	ErrNoTarget = errors.New("target cannot be reached")
	// ErrReached is returned by Apply for the first txn after the target.
	ErrReached = errors.New("target is reached")

	errAfter = errors.New("after txn") // in an ErrDigest that comes from the log
)

// Target is the moment to bring back. The zero value is the newest.
type Target struct {
	Zxid proto.Zxid // up to this txn; 0 is no limit
	// TimeMs is up to the first txn that was made later, in ms since 1970; 0 is no limit.
	TimeMs int64
}

func (t Target) includes(h *proto.TxnHeader) bool {
	return (t.Zxid == 0 || h.Zxid <= t.Zxid) && (t.TimeMs == 0 || h.Time <= t.TimeMs)
}

// Base is the snapshot from which a replay begins. It is fuzzy: it may hold effects of txns up to Exact, and the
// replay of those makes it exact. From there on, and not before, the digest of each txn must be that of the tree.
//
// A file that does not say when it was finished is Open: ZooKeeper writes such files. Its tree is exact from the first
// txn on whose digest it has.
type Base struct {
	File       string
	Exact      proto.Zxid // it may hold txns up to this one
	Open       bool       // it may hold later ones, too
	Digest     int64
	DigestZxid proto.Zxid // at which the tree has the digest; 0 if there is none
	// Differs is where the tree is known not to have the digest of the file; 0 if that is not known. ZooKeeper
	// computes others if it runs with another character set. From there on no digest tells whether a txn is missing.
	Differs proto.Zxid
}

// BaseOf returns the Base of a snapshot that was loaded. A digest of a txn before the snapshot was begun says nothing
// of it. Source: storage 7.3.
func BaseOf(file string, zxid proto.Zxid, t *snapshot.Trailer) Base {
	b := Base{File: file, Exact: max(zxid, t.DigestZxid, t.LastZxid)}
	if t.HasDigest && t.DigestVersion == proto.DigestVersion && t.DigestZxid >= zxid && t.DigestZxid > 0 {
		b.Digest, b.DigestZxid = t.Digest, t.DigestZxid
	}
	b.Open = b.DigestZxid == 0 && !t.HasLastZxid
	return b
}

// Replay applies a log to the state of a snapshot.
type Replay struct {
	State    *datatree.State
	LastTime int64         // of the last txn, 0 if there was none
	Checked  int           // txns after which the tree was exact
	Sink     datatree.Sink // receives the changes; may be nil
	// Lenient makes txns whose digest differs from that of the exact tree no error. Differing is how many there were,
	// and FirstDiffering the first of them.
	Lenient        bool
	Differing      int
	FirstDiffering proto.Zxid
	// Boundary is the last txn before the epoch of FirstDiffering, if no digest of that epoch has matched: a txn may
	// be missing there. Else it is -1.
	Boundary proto.Zxid

	base    Base
	target  Target
	chain   *snapshot.Chain // to the newer ones
	joins   func(last, next proto.Zxid) error
	begun   proto.Zxid // the zxid of the snapshot
	entered proto.Zxid // the last txn before the epoch of now, -1 when a digest of the epoch has matched
	stop    bool
}

// New returns the replay over a snapshot. names are the snapshots that there are.
func New(state *datatree.State, base Base, names []string, target Target) (*Replay, error) {
	r := &Replay{State: state, base: base, target: target, begun: state.LastZxid(), entered: -1, Boundary: -1,
		chain: snapshot.ChainOver(names, state.LastZxid(), target.Zxid)}
	return r, r.compare()
}

// Apply applies one txn, if it is new, and compares digests where the state is exact. It returns ErrReached if the txn
// comes after the target, and ErrGap if a txn is missing before it.
func (r *Replay) Apply(rec *wal.Record) error {
	last := r.State.LastZxid()
	if rec.Zxid <= last {
		return nil
	}
	if err := r.chain.Logged(rec.Zxid); err != nil {
		return fmt.Errorf("%w: %v comes after %v: %w", ErrGap, rec.Zxid, last, err)
	}
	if r.target != (Target{}) {
		var h proto.TxnHeader
		in := proto.NewReader(rec.Payload)
		if h.Decode(&in); in.Err() != nil {
			return in.Err()
		}
		if !r.target.includes(&h) {
			r.stop = true
			return ErrReached
		}
	}
	if !wal.Follows(last, rec.Zxid) {
		return fmt.Errorf("%w: %v comes after %v", ErrGap, rec.Zxid, last)
	}
	if r.joins != nil && (rec.Zxid.Epoch() != last.Epoch() || last == r.begun) {
		if err := r.joins(last, rec.Zxid); err != nil {
			return fmt.Errorf("%w: %w", ErrGap, err)
		}
	}
	if rec.Zxid.Epoch() != last.Epoch() && (r.base.Differs == 0 || last < r.base.Differs) {
		r.entered = last
	}
	_, applied, err := r.State.Apply(rec.Payload, r.Sink, nil, false)
	if err != nil {
		return fmt.Errorf("txn %v: %w", rec.Zxid, err)
	}
	r.LastTime = applied.Header.Time
	if err := r.judge(&applied); err != nil {
		return err
	}
	return r.compare()
}

// judge compares the digest of a txn, if the tree is exact.
func (r *Replay) judge(a *datatree.Applied) error {
	switch {
	case a.Header.Zxid <= r.base.Exact:
		return nil
	case a.DigestMatch:
		r.entered = -1
		if r.base.Open {
			r.base.Open, r.Differing, r.Boundary = false, 0, -1
		}
	case a.DigestMismatch && (r.Lenient || r.base.Open):
		if r.Differing++; r.Differing == 1 {
			r.FirstDiffering, r.Boundary = a.Header.Zxid, r.entered
		}
		return nil
	case a.DigestMismatch:
		return fmt.Errorf("%w: %w %v", ErrDigest, errAfter, a.Header.Zxid)
	}
	r.Checked++
	return nil
}

// Snapshot is the name of the snapshot from which the replay began.
func (r *Replay) Snapshot() string { return r.base.File }

// ExactFrom is the last txn whose effects the snapshot may hold.
func (r *Replay) ExactFrom() proto.Zxid { return r.base.Exact }

// IsExact reports whether the state is the one that the ensemble had at its zxid: a snapshot is fuzzy.
func (r *Replay) IsExact() bool { return r.State.LastZxid() >= r.base.Exact }

// Exact returns nil if the state is exact, and why it cannot be after the last record.
func (r *Replay) Exact() error {
	last := r.State.LastZxid()
	switch {
	case r.IsExact():
		return nil
	case r.stop:
		return fmt.Errorf("%w: the target is no later than %v, and %s is exact only from %v", ErrNoTarget, last,
			r.base.File, r.base.Exact)
	}
	return fmt.Errorf("%w: %s may hold txns up to %v and cannot be made exact at %v", ErrGap, r.base.File,
		r.base.Exact, last)
}

// compare checks the digest of the snapshot when the replay has come to its zxid.
func (r *Replay) compare() error {
	at := r.base.DigestZxid
	if at == 0 || r.State.LastZxid() != at || r.State.Digest() == r.base.Digest {
		return nil
	}
	return fmt.Errorf("%w: at %v, where %s has %d, it is %d", ErrDigest, at, r.base.File, r.base.Digest,
		r.State.Digest())
}
