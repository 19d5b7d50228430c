package meta

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// FileName is the name of the database in the version-2 directory.
const FileName = "meta.db"

const (
	newFile     = "tmp." + FileName
	damagedFile = FileName + ".damaged"

	fileMax  = 64 << 20 // larger than any meta.db gets
	openWait = time.Second
)

var (
	recordBucket   = []byte("meta")
	recordKey      = []byte("record")
	lineageKey     = []byte("lineage")   // in recordBucket; older versions ignore it
	addressesKey   = []byte("addresses") // in recordBucket, as lineageKey
	sessionsKey    = []byte("sessions")  // in recordBucket, as lineageKey
	snapshotBucket = []byte("snapshots")
)

// Options say where a DB is and to which server it belongs.
type Options struct {
	// Dir is the version-2 directory of dataDir, on the real filesystem; it must exist.
	Dir string
	// FS is used for the epoch files; nil is vfs.OS().
	FS vfs.FS
	// ServerID is myid of a Member. A standalone server accepts any identity.
	ServerID proto.ServerID
	// Member says that the server takes part in an ensemble: its epoch files count and are kept.
	Member bool

	sync func(*os.File) error // of meta.db when it is opened; nil is (*os.File).Sync
}

// DB is a Store on disk. Use Open.
type DB struct {
	ledger
	bolt    *bbolt.DB
	file    *os.File // the open file of bolt, which closes it
	files   epochFiles
	sync    func(*os.File) error
	member  bool
	rebuilt error
}

// Open opens the meta.db of a directory, or makes one. It returns ErrLocked, ErrWrongServer, ErrDamaged for a
// damaged one that may not be replaced, ErrEpoch for epoch files that cannot be parsed, vfs.ErrNoSpace.
// No other process may use the directory.
//
// A process that was killed may have written what it had not made durable yet. The next one goes by it, so Open makes
// durable what it reads.
func Open(o Options) (*DB, error) {
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	if o.sync == nil {
		o.sync = (*os.File).Sync
	}
	d := &DB{files: epochFiles{fs: o.FS, dir: o.Dir}, member: o.Member, sync: o.sync}
	if err := o.FS.SyncDir(o.Dir); err != nil {
		return nil, fmt.Errorf("meta: %w", noSpace(err))
	}
	files, err := d.readFiles()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.Dir, FileName)
	rec, snapshots, err := d.open(path)
	var damage *damageError
	switch {
	case errors.As(err, &damage) && o.Member && files == (fileEpochs{unset, unset}):
		return nil, fmt.Errorf(
			"%w: %s: %w; there are no epoch files either, so what this server has promised is unknown: "+
				"remove %s if it may start again from its log and snapshots", ErrDamaged, path, damage.err, FileName)
	case errors.As(err, &damage):
		d.rebuilt = fmt.Errorf("%w: %s: %w", ErrDamaged, path, damage.err)
		if err = os.Rename(path, filepath.Join(o.Dir, damagedFile)); err == nil {
			rec, snapshots, err = d.create(o)
		}
	case errors.Is(err, iofs.ErrNotExist):
		rec, snapshots, err = d.create(o)
	}
	if err != nil {
		return nil, fmt.Errorf("meta: open %s: %w", path, noSpace(err))
	}
	d.init(d, rec, snapshots)
	d.elsewhere = !o.Member || wasElsewhere(files, rec, snapshots)
	if err := d.settle(o, files); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// wasElsewhere is Elsewhere of a member.
func wasElsewhere(files fileEpochs, rec record, snapshots map[string]Snapshot) bool {
	return len(snapshots) == 0 || files.accepted > rec.accepted || files.current > rec.current
}

// Rebuilt returns why meta.db had to be made anew, or nil.
func (d *DB) Rebuilt() error { return d.rebuilt }

// fileEpochs are the epochs in the epoch files; unset for a missing file.
type fileEpochs struct{ accepted, current int64 }

// readFiles reads the epoch files. A standalone server may have been a member once: its files count, if
// they can be read, so that an older epoch never replaces a newer one.
func (d *DB) readFiles() (f fileEpochs, err error) {
	for _, file := range []struct {
		name  string
		epoch *int64
	}{{acceptedFile, &f.accepted}, {currentFile, &f.current}} {
		*file.epoch, _, err = d.files.read(file.name)
		if err != nil && d.member {
			return f, fmt.Errorf("%w: %w", ErrEpoch, err)
		}
	}
	return f, nil
}

// settle makes meta.db and the epoch files equal: of two epochs the larger counts.
func (d *DB) settle(o Options, files fileEpochs) error {
	if id := d.Identity().ServerID; o.Member && id != NoServer && id != o.ServerID {
		return fmt.Errorf("%w: %s is that of server %d, this is server %d; if the directory was copied on "+
			"purpose, remove %s",
			ErrWrongServer, filepath.Join(o.Dir, FileName), id, o.ServerID, FileName)
	}
	marked, err := d.files.marked()
	if err != nil {
		return err
	}
	err = d.change("settle epochs", func(r *record) error {
		if o.Member {
			r.identity.ServerID = o.ServerID
		}
		r.blank = r.blank || marked
		r.accepted = max(r.accepted, files.accepted)
		r.current = max(r.current, files.current)
		return r.credible()
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// change wrote the files whose epochs it raised; this writes those that a crash left behind.
	if err := d.writeFiles(&record{accepted: files.accepted, current: files.current}, &d.mu.rec); err != nil {
		return d.fail("settle epochs", err)
	}
	return nil
}

// writeFiles writes the epoch files whose values differ between prev and next: for a member always, else only
// above 0. accepted goes first: a current epoch above the accepted one is fatal.
func (d *DB) writeFiles(prev, next *record) error {
	for _, f := range []struct {
		name       string
		prev, next int64
	}{{acceptedFile, prev.accepted, next.accepted}, {currentFile, prev.current, next.current}} {
		if f.prev == f.next || f.next == unset || f.next == 0 && !d.member {
			continue
		}
		if err := d.files.write(f.name, f.next); err != nil {
			return err
		}
	}
	return nil
}

// save implements disk.
func (d *DB) save(prev, next *record) error {
	if prev.blank != next.blank {
		if err := d.files.mark(next.blank); err != nil {
			return noSpace(err)
		}
	}
	err := d.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(recordBucket)
		if next.lineage != prev.lineage {
			if err := b.Put(lineageKey, seal([]byte(next.lineage))); err != nil {
				return err
			}
		}
		if next.addresses != prev.addresses {
			if err := b.Put(addressesKey, seal([]byte(next.addresses))); err != nil {
				return err
			}
		}
		if next.sessionBase != prev.sessionBase {
			if err := b.Put(sessionsKey, seal(proto.AppendInt64(nil, next.sessionBase))); err != nil {
				return err
			}
		}
		return b.Put(recordKey, next.encode())
	})
	if err != nil {
		return err
	}
	return noSpace(d.writeFiles(prev, next))
}

// leftover implements disk.
func (d *DB) leftover() (int64, bool, error) { return d.files.read(currentFile + tmpSuffix) }

// put implements disk.
func (d *DB) put(entry *Snapshot, gone ...string) error {
	return d.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(snapshotBucket)
		for _, name := range gone {
			if err := b.Delete([]byte(name)); err != nil {
				return err
			}
		}
		if entry == nil {
			return nil
		}
		return b.Put([]byte(entry.Name), entry.encode())
	})
}

func (d *DB) close() error { return d.bolt.Close() }

// update runs a transaction. bbolt panics when it meets a damaged page, also in goroutines of its own, and may keep a
// lock then for which Close waits. So the file, which is small, is looked at before.
func (d *DB) update(fn func(*bbolt.Tx) error) (err error) {
	defer recovered(&err)()
	if err := d.verify(); err != nil {
		return err
	}
	return noSpace(d.bolt.Update(fn))
}

// verify returns a damageError if the open file was damaged since it was opened.
func (d *DB) verify() error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > fileMax {
		return &damageError{fmt.Errorf("%d bytes long", info.Size())}
	}
	b := make([]byte, info.Size())
	if _, err := d.file.ReadAt(b, 0); err != nil {
		return err
	}
	if err := checkPages(b); err != nil {
		return &damageError{err}
	}
	return nil
}

// recovered turns a panic, or a fault in the map of the file, into a damageError.
func recovered(err *error) func() {
	faults := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(faults)
		if r := recover(); r != nil {
			*err = &damageError{fmt.Errorf("%v", r)}
		}
	}
}

// damageError says that a file is not a meta.db that can be read.
type damageError struct{ err error }

func (e *damageError) Error() string { return "damaged: " + e.err.Error() }
func (e *damageError) Unwrap() error { return e.err }

// noSpace adds vfs.ErrNoSpace to the errors of a full disk. bbolt passes some of them on as text only.
func noSpace(err error) error {
	if err == nil || errors.Is(err, vfs.ErrNoSpace) {
		return err
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, bolterrors.ErrMaxSizeReached} {
		if strings.Contains(err.Error(), full.Error()) {
			return fmt.Errorf("%w: %w", vfs.ErrNoSpace, err)
		}
	}
	return err
}

// open reads an existing file. A file that is not whole is a damageError.
func (d *DB) open(path string) (rec record, snapshots map[string]Snapshot, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return rec, nil, err
	}
	if info.Size() > fileMax {
		return rec, nil, &damageError{fmt.Errorf("%d bytes long", info.Size())}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return rec, nil, err
	}
	if err := checkPages(b); err != nil {
		return rec, nil, &damageError{err}
	}
	if err := d.openBolt(path); err != nil {
		return rec, nil, err
	}
	if d.sync != nil { // not for a copy
		if err := d.sync(d.file); err != nil {
			return rec, nil, errors.Join(err, d.bolt.Close())
		}
	}
	if rec, snapshots, err = d.read(); err != nil {
		return rec, nil, errors.Join(&damageError{err}, d.bolt.Close())
	}
	return rec, snapshots, nil
}

func (d *DB) openBolt(path string) (err error) {
	defer recovered(&err)()
	d.bolt, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: openWait,
		// The list of free pages is computed by reading the tree: a list on disk could be damaged too, and is one
		// more page to write.
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		NoStatistics:   true,
		OpenFile: func(path string, flag int, mode os.FileMode) (f *os.File, err error) {
			f, err = os.OpenFile(path, flag, mode)
			d.file = f
			return f, err
		},
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return &damageError{err}
	}
	return err
}

// read reads everything: meta.db is small, and nothing is read from it later.
func (d *DB) read() (rec record, snapshots map[string]Snapshot, err error) {
	defer recovered(&err)()
	snapshots = map[string]Snapshot{}
	err = d.bolt.View(func(tx *bbolt.Tx) error {
		b, s := tx.Bucket(recordBucket), tx.Bucket(snapshotBucket)
		if b == nil || s == nil {
			return errors.New("a bucket is missing")
		}
		if err := rec.decode(b.Get(recordKey)); err != nil {
			return err
		}
		if v := b.Get(lineageKey); v != nil {
			lineage, err := unseal(v)
			if err != nil {
				return fmt.Errorf("lineage: %w", err)
			}
			rec.lineage = string(lineage)
		}
		if v := b.Get(sessionsKey); v != nil {
			base, err := unseal(v)
			if err != nil {
				return fmt.Errorf("base of session ids: %w", err)
			}
			d := proto.NewReader(base)
			rec.sessionBase = d.Int64()
			if d.Err() != nil || rec.sessionBase < 0 {
				return fmt.Errorf("base of session ids: %d bytes, value %d", len(base), rec.sessionBase)
			}
		}
		if addresses, err := unseal(b.Get(addressesKey)); err == nil { // else they are learned again
			rec.addresses = string(addresses)
		}
		return s.ForEach(func(name, v []byte) error {
			var entry Snapshot
			// A damaged catalogue entry only means that the snapshot is verified again.
			if err := entry.decode(v); err == nil && entry.Name == string(name) {
				snapshots[entry.Name] = entry
			}
			return nil
		})
	})
	return rec, snapshots, err
}

// create makes a new meta.db, which gets its name only when it is complete.
func (d *DB) create(o Options) (rec record, snapshots map[string]Snapshot, err error) {
	tmp, path := filepath.Join(o.Dir, newFile), filepath.Join(o.Dir, FileName)
	if err := removeIfThere(tmp); err != nil {
		return rec, nil, err
	}
	id := NoServer
	if o.Member {
		id = o.ServerID
	}
	rec = newRecord(id, time.Now())
	if err = d.openBolt(tmp); err != nil {
		return rec, nil, err
	}
	err = d.update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket(recordBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(snapshotBucket); err != nil {
			return err
		}
		return b.Put(recordKey, rec.encode())
	})
	if e := d.bolt.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = vfs.OS().SyncDir(o.Dir)
	}
	if err == nil {
		err = d.openBolt(path)
	}
	if err != nil {
		return rec, nil, errors.Join(err, removeIfThere(tmp))
	}
	return rec, map[string]Snapshot{}, nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return nil
}
