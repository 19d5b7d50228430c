package meta

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Facts are the contents of a directory about the server, the epochs and the snapshots.
type Facts struct {
	HasDB    bool // there is a meta.db; without one Identity, Lineage and Blank are empty
	Epochs   Epochs
	Identity Identity
	Lineage  string // as Store.Lineage
	Blank    bool
	Config   Config // the newest configuration of an ensemble that was reconfigured; empty if none is kept
	// Catalogue is that of the snapshots.
	Catalogue Catalogue
	// Own says that ZooKeeper has not used the directory since, if it is that of a member of an ensemble: see
	// Store.Elsewhere.
	Own bool
}

// Catalogue is a catalogue of snapshots, by name. It does not change, and satisfies snapshot.Known.
type Catalogue map[string]Snapshot

// Snapshot is as Store.Snapshot.
func (c Catalogue) Snapshot(name string) (size int64, checksum uint32, ok bool) {
	s, ok := c[name]
	return s.Size, s.Checksum, ok
}

// SnapshotOf is as Store.SnapshotOf.
func (c Catalogue) SnapshotOf(size int64, checksum uint32) (zxid proto.Zxid, ok bool) {
	for _, s := range c {
		if s.Size == size && s.Checksum == checksum {
			zxid, ok = max(zxid, s.Zxid), true // of several, the one that promises least
		}
	}
	return zxid, ok
}

// peekAttempts is how often a meta.db that is not whole is read: a server may be writing it.
const peekAttempts = 3

// Peek reads the version-2 directory dir of dataDir, which a server may be using, and changes nothing there. It
// returns ErrDamaged for a meta.db that is not whole, and ErrEpoch for epoch files that cannot be parsed; the
// Facts are then those of the other.
func Peek(fs vfs.FS, dir string) (f Facts, err error) {
	d := &DB{files: epochFiles{fs: fs, dir: dir}, member: true}
	files, err := d.readFiles()
	rec, catalogue, has, dbErr := d.peek(dir)
	if dbErr != nil {
		rec = record{accepted: unset, current: unset}
	}
	own := !wasElsewhere(files, rec, catalogue)
	rec.accepted, rec.current = max(rec.accepted, files.accepted), max(rec.current, files.current)
	return Facts{HasDB: has, Epochs: rec.epochs(), Identity: rec.identity, Lineage: rec.lineage, Blank: rec.blank,
		Config: rec.config, Catalogue: catalogue, Own: own}, errors.Join(dbErr, err)
}

// CheckEpochs returns the ErrEpoch with which a server does not start from the version-2 directory dir if its log ends
// with last, nil if there is none. Like Peek it changes nothing.
func CheckEpochs(fs vfs.FS, dir string, member bool, last proto.Zxid) error {
	d := &DB{files: epochFiles{fs: fs, dir: dir}, member: member}
	files, err := d.readFiles()
	if err != nil {
		return err
	}
	rec, _, _, err := d.peek(dir)
	if err != nil {
		rec = record{accepted: unset, current: unset} // it is made anew
	}
	rec.accepted, rec.current = max(rec.accepted, files.accepted), max(rec.current, files.current)
	if !member {
		return rec.credible()
	}
	return rec.reconcile(last, d.leftover)
}

// peek reads meta.db; has is false if there is none.
func (d *DB) peek(dir string) (rec record, catalogue Catalogue, has bool, err error) {
	for range peekAttempts {
		rec, catalogue, err = d.copied(dir)
		var damage *damageError
		switch {
		case errors.As(err, &damage):
			err = fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Join(dir, FileName), damage.err)
		case errors.Is(err, iofs.ErrNotExist):
			return record{accepted: unset, current: unset, identity: Identity{ServerID: NoServer}}, nil, false, nil
		default:
			return rec, catalogue, err == nil, err
		}
	}
	return rec, nil, false, err
}

// copied reads a copy of meta.db: bbolt would wait for the lock of the server that has the file open.
func (d *DB) copied(dir string) (rec record, catalogue Catalogue, err error) {
	b, err := vfs.ReadFile(d.files.fs, filepath.Join(dir, FileName), fileMax)
	if errors.Is(err, vfs.ErrTooLarge) {
		return rec, nil, &damageError{err}
	}
	if err != nil {
		return rec, nil, err
	}
	tmp, err := os.MkdirTemp("", "warren-meta-")
	if err != nil {
		return rec, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.WriteFile(filepath.Join(tmp, FileName), b, 0o600); err != nil {
		return rec, nil, err
	}
	if rec, catalogue, err = d.open(filepath.Join(tmp, FileName)); err != nil {
		return rec, nil, err
	}
	return rec, catalogue, d.bolt.Close()
}

// Begin writes the meta.db and the epoch files of a history that begins in an epoch, with its lineage, into an
// empty directory: that of a server of any id, member or not. All of it is durable when Begin returns.
func Begin(fs vfs.FS, dir string, epoch int64, lineage string) (err error) {
	tmp, err := os.MkdirTemp("", "warren-meta-") // bbolt needs a file of the operating system
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	d, err := Open(Options{Dir: tmp})
	if err != nil {
		return err
	}
	if err := errors.Join(d.SetAccepted(epoch), d.SetCurrent(epoch, lineage), d.Close()); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(tmp, FileName))
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(fs, filepath.Join(dir, FileName), b); err != nil {
		return err
	}
	files := epochFiles{fs: fs, dir: dir}
	return errors.Join(files.write(acceptedFile, epoch), files.write(currentFile, epoch)) // each syncs the directory
}
