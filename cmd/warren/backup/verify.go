package backup

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// Range is moments that can be brought back: every txn from the first to the last.
type Range struct {
	Snapshot string
	From, To proto.Zxid
	ToTime   int64 // of the last txn, ms since 1970, 0 if it is the snapshot's
	Znodes   int
	Digest   int64 // of the tree at To
	Compared int   // txns whose digest was compared
	Wrong    error // why the tree is taken although a digest differs, nil if none does
}

// Verdict is the outcome of Verify.
type Verdict struct {
	Ranges   []Range
	Problems []error
}

// Verify reads every file, rebuilds the tree from every snapshot, and compares checksums, zxids and digests with the
// manifest and with what the txns carry.
func (b *Backup) Verify() Verdict {
	var v Verdict
	bad := map[string]bool{}
	for i := range b.Manifest.Entries {
		e := &b.Manifest.Entries[i]
		err := b.checkFile(e)
		if err == nil && e.Kind == KindLog {
			err = b.checkLog(e)
		}
		if err != nil {
			bad[e.File] = true
			v.Problems = append(v.Problems, err)
		}
	}
	for e := range b.Manifest.of(KindSnapshot) {
		if bad[e.File] {
			continue
		}
		r, err := b.rebuild(e, Target{})
		if err != nil {
			v.Problems = append(v.Problems, fmt.Errorf("from %s: %w", e.File, err))
			continue
		}
		v.Ranges = append(v.Ranges,
			Range{Snapshot: e.File, From: proto.Zxid(e.Exact), To: r.State.LastZxid(), ToTime: r.LastTime,
				Znodes: r.State.NumNodes(), Digest: r.State.Digest(), Compared: r.Checked, Wrong: r.wrong})
	}
	return v
}

// checkFile compares size and checksum.
func (b *Backup) checkFile(e *Entry) error {
	path, err := b.store.fetch(e)
	if err == nil {
		err = compareFile(b.fs, path, e.Bytes, e.SHA256)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.File, err)
	}
	return nil
}

// scan reads a log of the backup.
func (b *Backup) scan(e *Entry, fn func(*wal.Record) error) (wal.FileSummary, error) {
	path, err := b.store.fetch(e)
	if err != nil {
		return wal.FileSummary{}, err
	}
	return wal.Scan(b.fs, path, fn)
}

// checkLog compares a log with its entry.
func (b *Backup) checkLog(e *Entry) error {
	sum, err := b.scan(e, func(*wal.Record) error { return nil })
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", e.File, err)
	case sum.Records != e.Txns || Zxid(sum.First) != e.First || Zxid(sum.Last) != e.Last || sum.End != e.Bytes:
		return fmt.Errorf("%s: holds %d txns from %v to %v, not %d from %v to %v", e.File, sum.Records, sum.First,
			sum.Last, e.Txns, e.First, e.Last)
	}
	return nil
}
