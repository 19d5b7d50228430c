package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Errors of a Store that callers check.
var (
	// ErrNone is returned when a directory holds no snapshot at all.
	ErrNone = errors.New("snapshot: no snapshot is in the directory")
	// ErrClosed is returned by Write when the Store is closed before it has finished.
	ErrClosed = errors.New("snapshot: store is closed")
)

// syncBytes is how many bytes are written before a file is synced, so that a sync of the log waits for no more than
// these.
const syncBytes = 8 << 20

// Options says where and how a Store keeps snapshots.
type Options struct {
	FS          vfs.FS
	Dir         string      // the version-2 directory; it must exist
	Compression Compression // of the snapshots that are written; a reader takes it from the name

	// OmitLastZxid leaves out the section with the last zxid, as servers before 3.9 do. ZooKeeper does so unless
	// serializeLastProcessedZxid.enabled is true.
	OmitLastZxid bool

	// Ensemble returns the identity of the ensemble, 0 if it is not known. Each snapshot carries it, so that its
	// origin is known without meta.db. Nil: the identity is never known.
	Ensemble func() uint64

	// Writing is held by the methods that change the directory, which exclude each other. Nil: a sync.Mutex.
	Writing sync.Locker
	// Catalogue remembers which files have been verified. Nil: none is remembered.
	Catalogue Catalogue
	// Own is View.Own.
	Own bool
	// Warn receives errors that do not fail an operation: a damaged snapshot that was skipped, a catalogue that
	// could not be written. name is the file. Nil: such errors are dropped.
	Warn func(name string, err error)
}

// Known is what is remembered, across restarts, of snapshots that have been read completely and found good.
type Known interface {
	// Snapshot returns the size and the CRC-32C of the file called name when it was verified.
	Snapshot(name string) (size int64, checksum uint32, ok bool)
	// SnapshotOf returns the zxid of a file that had this size and CRC-32C when it was verified, whatever its name.
	SnapshotOf(size int64, checksum uint32) (zxid proto.Zxid, ok bool)
}

// Catalogue is Known that is kept. Its errors fail no operation but Write: a missing entry costs reading a file, and
// the proof that a file is what its name says, or was a snapshot at all. server/meta keeps one.
type Catalogue interface {
	Known
	// PutSnapshot records that the file called name has just been verified.
	PutSnapshot(name string, zxid proto.Zxid, size int64, checksum uint32) error
	// DropSnapshot forgets name; it is no error if it is not there.
	DropSnapshot(name string) error
}

// Meta describes a snapshot file.
type Meta struct {
	Zxid     proto.Zxid // last zxid that was applied when the snapshot was begun; it may hold later txns too
	Name     string     // in the Store's directory
	Size     int64      // bytes in the file
	Verified bool       // a file of this name and size was read completely and found good
	Checksum uint32     // CRC-32C of the file's bytes; only if Verified
}

// Store keeps the snapshots of one directory. Its methods may be called by any number of
// goroutines; Write and Prune exclude each other.
type Store struct {
	o         Options
	once      sync.Once     // of Close
	closed    chan struct{} // closed by Close
	syncBytes int64
}

// NewStore returns a Store over a directory. It removes snapshots there that a crash left unfinished. No other
// process may write in the directory.
func NewStore(o Options) (*Store, error) {
	if !o.Compression.Valid() {
		return nil, fmt.Errorf("snapshot: unknown compression %q", string(o.Compression))
	}
	if o.Ensemble == nil {
		o.Ensemble = func() uint64 { return 0 }
	}
	if o.Writing == nil {
		o.Writing = new(sync.Mutex)
	}
	if o.Catalogue == nil {
		o.Catalogue = noCatalogue{}
	}
	if o.Warn == nil {
		o.Warn = func(string, error) {}
	}
	s := &Store{o: o, closed: make(chan struct{}), syncBytes: syncBytes}
	names, err := vfs.Files(o.FS, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	for _, name := range names {
		if !isOwnTmp(name) {
			continue
		}
		if err := o.FS.Remove(s.path(name)); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	return s, nil
}

// Close makes a running Write stop soon, with ErrClosed, and every later one at once. All other methods keep
// working. It may be called by any goroutine, any number of times.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// List returns the snapshots of the directory that pass the cheap test of storage 5.5, the newest
// first. Only Load and Verify tell whether one is good.
func (s *Store) List() ([]Meta, error) { return s.view().List() }

// view is the directory, to read from.
func (s *Store) view() View {
	return View{FS: s.o.FS, Dir: s.o.Dir, Catalogue: s.o.Catalogue, Own: s.o.Own, Ensemble: s.o.Ensemble()}
}

// List returns the snapshots in dir that pass the cheap test of storage 5.5, or that cannot be read, the newest
// first; of two with one zxid, the plain one.
func List(fs vfs.FS, dir string) ([]Meta, error) {
	names, err := vfs.Files(fs, dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	var metas []Meta
	for _, name := range names {
		zxid, c, ok := ParseName(name)
		if !ok {
			continue
		}
		size, ok, err := inspect(fs, filepath.Join(dir, name), c)
		switch {
		case errors.Is(err, iofs.ErrNotExist): // pruned since
		case ok, err != nil: // who loads it hears the error, and may take another one
			metas = append(metas, Meta{Zxid: zxid, Name: name, Size: size})
		}
	}
	slices.SortFunc(metas, func(a, b Meta) int {
		return cmp.Or(cmp.Compare(b.Zxid, a.Zxid), cmp.Compare(a.Name, b.Name))
	})
	return metas, nil
}

// inspect returns a file's size and whether it passes the cheap test.
func inspect(fs vfs.FS, path string, c Compression) (size int64, ok bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	if size, err = f.Size(); err != nil {
		return 0, false, err
	}
	var head [8]byte
	var tail [5]byte
	if size < int64(len(head)) {
		return size, false, nil
	}
	if _, err = f.ReadAt(head[:], 0); err != nil {
		return size, false, err
	}
	if _, err = f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return size, false, err
	}
	return size, plausible(c, size, head[:], tail[:]), nil
}

// Load reads a snapshot as View.Load does, and remembers that it is good.
func (s *Store) Load(m Meta, sink Sink) (Trailer, error) {
	t, seen, err := s.view().load(m, sink)
	if err == nil {
		s.warned(m.Name, s.remember(m.Name, m.Zxid, seen))
	}
	return t, err
}

// remember records in the catalogue that a file is good.
func (s *Store) remember(name string, zxid proto.Zxid, seen sums) error {
	if size, sum, ok := s.o.Catalogue.Snapshot(name); ok && size == seen.size && sum == seen.crc {
		return nil
	}
	return s.o.Catalogue.PutSnapshot(name, zxid, seen.size, seen.crc)
}

func (s *Store) warned(name string, err error) {
	if err != nil {
		s.o.Warn(name, err)
	}
}

func (s *Store) path(name string) string { return filepath.Join(s.o.Dir, name) }

type noCatalogue struct{}

func (noCatalogue) Snapshot(string) (int64, uint32, bool)               { return 0, 0, false }
func (noCatalogue) SnapshotOf(int64, uint32) (proto.Zxid, bool)         { return 0, false }
func (noCatalogue) PutSnapshot(string, proto.Zxid, int64, uint32) error { return nil }
func (noCatalogue) DropSnapshot(string) error                           { return nil }
