package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Destination is where a state is restored to.
type Destination struct {
	FS      vfs.FS
	SnapDir string // dataDir/version-2; made if it is missing
	LogDir  string // dataLogDir/version-2
}

// Restored is what was brought back.
type Restored struct {
	Snapshot string     // of the backup, from which it began
	Zxid     proto.Zxid // last txn
	TimeMs   int64      // of it; 0 if it is the snapshot's
	File     string     // that was written
	Znodes   int
	Sessions int
	Digest   int64
	Compared int // txns whose digest was compared
}

// ErrNotEmpty means that there is data where a state is to be restored to.
var ErrNotEmpty = errors.New("backup: the destination holds data")

// ErrNoTarget means that no snapshot of the backup is exact at the target or before it.
var ErrNoTarget = errors.New("backup: nothing to restore")

// Restore rebuilds the state at the target and writes it as one snapshot into an empty directory. The files that it needs are checked first, the
// digest of the tree is compared after every txn that carries one, and the snapshot is read back and compared again. Nothing
// is written before the state is complete; existing data is never touched.
func (b *Backup) Restore(to Destination, target Target) (Restored, error) {
	if err := to.checkEmpty(); err != nil {
		return Restored{}, err
	}
	r, err := b.reach(target)
	if err != nil {
		return Restored{}, err
	}
	return to.write(r)
}

// Check reports whether the target can be restored, by doing it in memory.
func (b *Backup) Check(target Target) error {
	_, err := b.reach(target)
	return err
}

// reach rebuilds the state at the target from the newest snapshot from which that is possible.
func (b *Backup) reach(target Target) (*replayed, error) {
	var failed error
	for i := len(b.Manifest.Entries) - 1; i >= 0; i-- {
		e := &b.Manifest.Entries[i]
		if e.Kind != KindSnapshot || target.Zxid > 0 && proto.Zxid(e.Exact) > target.Zxid {
			continue
		}
		r, err := b.from(e, target)
		if err == nil {
			return r, nil
		}
		failed = errors.Join(failed, fmt.Errorf("from %s: %w", e.File, err))
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fmt.Errorf("%w: %s has no snapshot that is exact at %v", ErrNoTarget, b.dir, target.Zxid)
}

// from rebuilds the state at the target from one snapshot, after checking the files.
func (b *Backup) from(e *Entry, target Target) (*replayed, error) {
	if err := b.checkFile(e); err != nil {
		return nil, err
	}
	for i := range b.Manifest.Entries {
		log := &b.Manifest.Entries[i]
		if log.Kind == KindLog && log.Last > e.Last && (target.Zxid == 0 || proto.Zxid(log.First) <= target.Zxid) {
			if err := b.checkFile(log); err != nil {
				return nil, err
			}
		}
	}
	r, err := b.rebuild(e, target)
	if err != nil {
		return nil, err
	}
	if last := r.state.LastZxid(); target.Zxid > 0 && last != target.Zxid {
		return nil, fmt.Errorf("%w: the backup has no txn %v, the last before it is %v", ErrNoTarget, target.Zxid, last)
	}
	if newest, _ := b.Manifest.last(); target == (Target{}) && r.state.LastZxid() < newest {
		return nil, fmt.Errorf("%w: the backup goes on to %v behind a gap, from here only %v is reached: name that txn if it is to do", ErrGap, newest, r.state.LastZxid())
	}
	if target.TimeMs > 0 && r.lastTime == 0 && !b.isBefore(e, target.TimeMs) {
		return nil, fmt.Errorf("%w: no txn after %v is that old, and the snapshot may be younger", ErrNoTarget, e.Last)
	}
	return r, nil
}

// isBefore reports whether the last txn of a snapshot is known to be no later than a time: a log has it, or the snapshot was copied
// before.
func (b *Backup) isBefore(e *Entry, ms int64) bool {
	known, before := false, false
	for i := range b.Manifest.Entries {
		log := &b.Manifest.Entries[i]
		if log.Kind != KindLog || e.Last < log.First || e.Last > log.Last {
			continue
		}
		_, _ = wal.Scan(b.fs, b.path(log.File), func(r *wal.Record) error { // a damaged file tells nothing
			if r.Zxid != proto.Zxid(e.Last) {
				return nil
			}
			var h proto.TxnHeader
			in := proto.NewReader(r.Payload)
			h.Decode(&in)
			known, before = true, in.Err() == nil && h.Time <= ms
			return errStop
		})
	}
	return known && before || !known && e.Taken.UnixMilli() <= ms
}

// checkEmpty refuses a directory with anything that a server would read.
func (d *Destination) checkEmpty() error {
	for _, dir := range []string{d.SnapDir, d.LogDir} {
		names, err := d.FS.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("backup: %w", err)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, tmpPrefix) {
				return fmt.Errorf("%w: %s/%s", ErrNotEmpty, dir, name)
			}
		}
	}
	return nil
}

// write writes the state as a snapshot and reads it back.
func (d *Destination) write(r *replayed) (Restored, error) {
	if err := d.FS.MkdirAll(d.SnapDir); err != nil {
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	store, err := snapshot.NewStore(snapshot.Options{FS: d.FS, Dir: d.SnapDir})
	if err != nil {
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	defer store.Close()
	zxid, digest := r.state.LastZxid(), r.state.Digest()
	w := r.state.NewWalker()
	defer w.Close()
	m, err := store.Write(zxid, walkerSource{w})
	if err != nil {
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	again := datatree.NewLoader(datatree.Config{})
	if _, err := store.Load(m, again); err != nil {
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	state, err := again.Done(zxid)
	if err != nil {
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	if state.Digest() != digest {
		return Restored{}, fmt.Errorf("%w: %s gives %d, the tree was %d", ErrDigest, m.Name, state.Digest(), digest)
	}
	return Restored{Snapshot: r.snapshot.File, Zxid: zxid, TimeMs: r.lastTime, File: m.Name, Znodes: state.NumNodes(),
		Sessions: state.NumSessions(), Digest: digest, Compared: r.checked}, nil
}

// walkerSource is a walker over a state that nobody changes.
type walkerSource struct{ w *datatree.Walker }

// Next implements snapshot.Source.
func (s walkerSource) Next(b []byte) ([]byte, bool) { return s.w.Next(b, 1<<20) }

// End implements snapshot.Source.
func (s walkerSource) End() (proto.Zxid, int64) { return s.w.End() }
