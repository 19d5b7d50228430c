package meta

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"

	"github.com/seed94657493/warren/wal/vfs"
)

// Facts is what a directory says of the server and of the epochs: meta.db without the configuration and the catalogue.
type Facts struct {
	HasDB    bool // there is a meta.db; without one Identity, Lineage and Blank are empty
	Epochs   Epochs
	Identity Identity
	Lineage  string // as Store.Lineage
	Blank    bool
}

// peekAttempts is how often a meta.db is read that does not look whole: a server may be writing it.
const peekAttempts = 3

// Peek reads the version-2 directory dir of dataDir, which a server may be using, and changes nothing there. It
// returns ErrDamaged for a meta.db that is not whole, and ErrEpoch for epoch files that cannot be parsed.
func Peek(dir string) (f Facts, err error) {
	d := &DB{files: epochFiles{fs: vfs.OS(), dir: dir}, member: true}
	for range peekAttempts {
		var rec record
		rec, err = d.copied(dir)
		var damage *damageError
		switch {
		case errors.As(err, &damage):
			err = fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Join(dir, FileName), damage.err)
			continue
		case errors.Is(err, iofs.ErrNotExist):
			rec = record{accepted: unset, current: unset}
		case err != nil:
			return f, err
		default:
			f.HasDB = true
		}
		files, err := d.readFiles()
		if err != nil {
			return f, err
		}
		rec.accepted, rec.current = max(rec.accepted, files.accepted), max(rec.current, files.current)
		f.Epochs, f.Identity, f.Lineage, f.Blank = rec.epochs(), rec.identity, rec.lineage, rec.blank
		return f, nil
	}
	return f, err
}

// copied reads a copy of meta.db: bbolt would wait for the lock of the server that has the file open.
func (d *DB) copied(dir string) (rec record, err error) {
	name := filepath.Join(dir, FileName)
	info, err := os.Stat(name)
	if err != nil {
		return rec, err
	}
	if info.Size() > fileMax {
		return rec, &damageError{fmt.Errorf("%d bytes long", info.Size())}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return rec, err
	}
	tmp, err := os.MkdirTemp("", "warren-meta-")
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.WriteFile(filepath.Join(tmp, FileName), b, 0o600); err != nil {
		return rec, err
	}
	if rec, _, err = d.open(filepath.Join(tmp, FileName)); err != nil {
		return rec, err
	}
	return rec, d.bolt.Close()
}
