package backup

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// Source is the data directory of a server, which may be running.
type Source struct {
	FS      vfs.FS
	SnapDir string // dataDir/version-2
	LogDir  string // dataLogDir/version-2
}

// Options say what a run does.
type Options struct {
	// Full adds a snapshot even if the backup can be continued with the log alone.
	Full bool
	// FullEvery adds one if the newest of the backup was added longer ago; 0 is never.
	FullEvery time.Duration
	// Limit leaves out txns above it; 0 is no limit. In an ensemble, give a zxid that is committed.
	Limit proto.Zxid
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Outcome is what a run has added.
type Outcome struct {
	Added    []Entry
	Last     proto.Zxid // of the backup
	Warnings []string
}

// errDiverged means that the source has another history than the backup: its log was cut, or it is another server.
var errDiverged = errors.New("backup: the source has another history")

// Add copies what is new in the source. The backup is unchanged on an error.
func (b *Backup) Add(src Source, o Options) (Outcome, error) {
	if err := datadir.Check(src.FS, src.SnapDir, src.LogDir); err != nil {
		return Outcome{}, fmt.Errorf("backup: %w", err)
	}
	for _, dir := range []string{src.SnapDir, src.LogDir} { // before a folder for the backup is made
		if _, err := src.FS.List(dir); err != nil {
			return Outcome{}, fmt.Errorf("backup: %w", err)
		}
	}
	lock, err := b.beginAdding()
	if err != nil {
		return Outcome{}, err
	}
	defer lock.Close()
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	run := &addition{Backup: b, src: src, limit: o.Limit, taken: now().UTC().Truncate(time.Millisecond)}
	// Who may read all but meta.db is a member of the server's group: the epoch files say the same.
	if run.epoch, err = datadir.Promised(src.FS, src.SnapDir); err != nil && !errors.Is(err, fs.ErrPermission) {
		return Outcome{}, fmt.Errorf("backup: %w", err)
	}
	if err := run.add(o.Full || o.FullEvery > 0 && run.taken.Sub(b.newestSnapshot()) >= o.FullEvery); err != nil {
		return Outcome{}, err
	}
	return run.finish(src.SnapDir, src.LogDir)
}

// addition is one run.
type addition struct {
	*Backup
	src   Source
	limit proto.Zxid
	epoch int64 // that the source has promised
	taken time.Time
	out   Outcome
}

func (a *addition) add(full bool) error {
	last, end := a.Manifest.last()
	if len(a.Manifest.Entries) == 0 || full {
		return a.addFull(last, end)
	}
	err := a.addLog(last, end)
	if errors.Is(err, rebuild.ErrGap) {
		a.out.Warnings = append(a.out.Warnings,
			fmt.Sprintf("the log of the source does not go back to %v: a snapshot is added, and what lies "+
				"between cannot be restored", last))
		return a.addFull(0, nil)
	}
	return err
}

// newestSnapshot is when the newest snapshot was added.
func (b *Backup) newestSnapshot() (taken time.Time) {
	for e := range b.Manifest.of(KindSnapshot) {
		if e.Taken.After(taken) {
			taken = e.Taken
		}
	}
	return taken
}

// addFull adds a snapshot, and the log from there, or from where the backup ends if that is earlier.
func (a *addition) addFull(last proto.Zxid, end *Entry) error {
	snap, err := a.addSnapshot()
	if err != nil {
		return err
	}
	from, after := proto.Zxid(snap.Last), (*Entry)(nil)
	if last > 0 {
		from, after = last, end
	}
	err = a.addLog(from, after)
	if errors.Is(err, rebuild.ErrGap) && last > 0 {
		a.out.Warnings = append(a.out.Warnings,
			fmt.Sprintf("the log of the source does not go back to %v: what lies between cannot be restored", last))
		err = a.addLog(proto.Zxid(snap.Last), nil)
	}
	if err != nil {
		return err
	}
	reached := proto.Zxid(snap.Last)
	for _, e := range append(a.Manifest.Entries, a.out.Added...) {
		reached = max(reached, proto.Zxid(e.Last))
	}
	if reached < proto.Zxid(snap.Exact) {
		return fmt.Errorf("%w: %s may hold txns up to %v, but the log ends with %v", rebuild.ErrGap, snap.File,
			snap.Exact, reached)
	}
	return nil
}

// finish makes what was added count.
func (a *addition) finish(source, log string) (Outcome, error) {
	a.Manifest.Source = cmp.Or(a.Manifest.Source, source)
	if a.Manifest.Source == source && log != source {
		a.Manifest.SourceLog = log
	}
	entries, epoch := a.Manifest.Entries, a.Manifest.Epoch
	a.Manifest.Epoch = max(epoch, a.epoch)
	a.Manifest.Entries = append(entries[:len(entries):len(entries)], a.out.Added...)
	a.out.Last, _ = a.Manifest.last()
	if len(a.out.Added) == 0 && a.Manifest.Epoch == epoch {
		return a.out, nil
	}
	if err := a.save(); err != nil {
		a.Manifest.Entries, a.Manifest.Epoch = entries, epoch
		return Outcome{}, fmt.Errorf("backup: %w", err)
	}
	return a.out, nil
}

// purgedRetries is how often the newest snapshot may disappear while it is copied.
const purgedRetries = 5

// addSnapshot copies the newest snapshot that is whole, and knows nothing above the limit.
func (a *addition) addSnapshot() (*Entry, error) {
	var failed error
	for range purgedRetries {
		list, err := snapshot.List(a.src.FS, a.src.SnapDir)
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		purged := false
		failed = nil
		for _, m := range list {
			if a.limit > 0 && m.Zxid > a.limit {
				continue
			}
			e, err := a.copySnapshot(m)
			if err == nil {
				return e, nil
			}
			purged = purged || errors.Is(err, fs.ErrNotExist)
			failed = errors.Join(failed, err)
		}
		if !purged {
			break
		}
	}
	switch {
	case failed == nil && a.limit > 0:
		return nil, fmt.Errorf("backup: %s has no snapshot up to txn %v, and a backup begins with one: "+
			"it needs a later limit", a.src.SnapDir, a.limit)
	case failed == nil:
		return nil, fmt.Errorf("backup: %s has no snapshot, and a backup begins with one: name the dataDir of a "+
			"server, and its dataLogDir with --dataLogDir; a server writes its first snapshot when it starts",
			a.src.SnapDir)
	}
	return nil, fmt.Errorf("backup: no snapshot can be copied: %w", failed)
}

// copySnapshot copies one file and verifies the copy.
func (a *addition) copySnapshot(m snapshot.Meta) (*Entry, error) {
	for e := range a.Manifest.of(KindSnapshot) {
		if e.Last == Zxid(m.Zxid) {
			return e, nil // it is there
		}
	}
	f, err := a.src.FS.Open(filepath.Join(a.src.SnapDir, m.Name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return a.keepSnapshot(f, m.Name)
}

// keepSnapshot writes what r holds as the snapshot name, and verifies it.
func (a *addition) keepSnapshot(r io.Reader, name string) (*Entry, error) {
	w, err := a.create(name)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(w, r)
	if err = errors.Join(err, w.done()); err != nil {
		return nil, fmt.Errorf("copy %s: %w", name, err)
	}
	t, err := snapshot.Verify(a.fs, w.tmp)
	if err == nil {
		err = t.CheckName(name)
	}
	if err != nil {
		return nil, err
	}
	zxid, _, _ := snapshot.ParseName(name)
	base := rebuild.BaseOf(name, zxid, &t)
	e := Entry{Kind: KindSnapshot, File: name, Bytes: w.bytes, SHA256: hex.EncodeToString(w.sum.Sum(nil)),
		First: Zxid(zxid), Last: Zxid(zxid), Exact: Zxid(base.Exact), Taken: a.taken,
		Digest: base.Digest, DigestZxid: Zxid(base.DigestZxid)}
	if a.limit > 0 && proto.Zxid(e.Exact) > a.limit {
		return nil, fmt.Errorf("%s may hold txns up to %v, above the limit %v", name, e.Exact, a.limit)
	}
	return a.keep(e, w)
}

// keep gives a file its name and notes the entry.
func (a *addition) keep(e Entry, w *fileWriter) (*Entry, error) {
	if err := a.store.keep(&e, w.tmp); err != nil {
		return nil, fmt.Errorf("keep %s: %w", e.File, err)
	}
	a.out.Added = append(a.out.Added, e)
	return &e, nil
}

// fileWriter writes a temporary file, and its checksum.
type fileWriter struct {
	tmp   string
	f     vfs.File
	sum   hash.Hash
	bytes int64
}

func (b *Backup) create(name string) (*fileWriter, error) {
	tmp := b.store.work(name)
	f, err := b.fs.Create(tmp)
	if err != nil {
		return nil, err
	}
	return &fileWriter{tmp: tmp, f: f, sum: sha256.New()}, nil
}

// Write implements io.Writer.
func (w *fileWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	return n, err
}

// done makes the file durable and closes it.
func (w *fileWriter) done() error { return errors.Join(w.f.Sync(), w.f.Close()) }
