package snapshot

import (
	"errors"
	"path/filepath"

	"github.com/seed94657493/warren/wal/vfs"
)

// View reads the snapshots of a directory and changes nothing.
type View struct {
	FS        vfs.FS
	Dir       string
	Catalogue Known // nil: nothing is known
	// Own says that no other program has written snapshots here since the catalogue was begun. Then one that it does
	// not know must prove its tree by a digest.
	Own bool
	// Ensemble is the identity of the ensemble, 0 if it is not known. A snapshot of another one is refused.
	Ensemble uint64
}

// List returns the snapshots that pass the cheap test of storage 5.5, the newest first. Only Load tells whether one is
// good.
func (v View) List() ([]Meta, error) {
	metas, err := List(v.FS, v.Dir)
	if v.Catalogue == nil {
		return metas, err
	}
	for i := range metas {
		m := &metas[i]
		if size, sum, ok := v.Catalogue.Snapshot(m.Name); ok && size == m.Size {
			m.Verified, m.Checksum = true, sum
		}
	}
	return metas, err
}

// Load reads a snapshot into sink and verifies every seal, as the function Load does, and compares the file with what
// the catalogue knows of it.
func (v View) Load(m Meta, sink Sink) (Trailer, error) {
	t, _, err := v.load(m, sink)
	return t, err
}

// Verify reads a snapshot completely and checks what the function Verify and Load check.
func (v View) Verify(m Meta) error {
	t, seen, err := verify(v.FS, filepath.Join(v.Dir, m.Name))
	return v.compared(m, &t, seen, err)
}

func (v View) load(m Meta, sink Sink) (Trailer, sums, error) {
	t, seen, err := load(v.FS, filepath.Join(v.Dir, m.Name), sink, chunkBytes)
	return t, seen, v.compared(m, &t, seen, err)
}

// compared adds to the error of a reading what the catalogue says of the file.
func (v View) compared(m Meta, t *Trailer, seen sums, err error) error {
	if v.Catalogue == nil || err != nil && !errors.Is(err, ErrName) {
		return err
	}
	return t.known(&v, m, seen, err)
}
