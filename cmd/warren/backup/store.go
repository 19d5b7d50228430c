package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// store is where the files of a backup are kept. What a run writes and what it reads are files of Backup.fs: the store
// takes them from there and brings them there.
type store interface {
	// String names the store in messages.
	String() string
	// begin prepares for writing until the result is closed.
	begin() (io.Closer, error)
	// manifest returns the manifest. The error is fs.ErrNotExist if there is none.
	manifest() ([]byte, error)
	// replace replaces the manifest that manifest has returned, durably, and after all that was kept is durable.
	replace(text []byte) error
	// work returns the path at which a file of the backup is written before it is kept.
	work(file string) string
	// keep takes the file at a path into the store, and notes in the entry how it is stored.
	keep(e *Entry, path string) error
	// fetch returns the path of a file with what is stored for an entry. It may be damaged.
	fetch(e *Entry) (path string, err error)
	// check reads what is stored for an entry, and compares it as far as that is possible without keys.
	check(e *Entry) error
	// list returns the files whose names are those of a backup.
	list() ([]Stored, error)
	// name returns the name that list has for an entry.
	name(e *Entry) string
	// remove removes the files of these names.
	remove(names []string) error
	// note keeps a name, durably, and noted reports whether it is there. It is none that list returns.
	note(name string) error
	noted(name string) (bool, error)
}

// Stored is a file that a store holds.
type Stored struct {
	Name  string
	Bytes int64
	// Recent files may belong to a run that goes on.
	Recent bool
}

// isFile reports whether a name is that of a snapshot or of a log.
func isFile(name string) bool {
	_, _, isSnapshot := snapshot.ParseName(name)
	_, _, isLog := wal.FileZxid(name)
	return isSnapshot || isLog
}

// folder is the store of a backup in a folder.
type folder struct {
	fs   vfs.FS
	dir  string
	text []byte // the manifest that this run has read or written, nil if there is none
}

func (f *folder) String() string { return f.dir }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// begin implements store: it takes the folder for writing, and removes what an interrupted run has left. Another run
// may have had the folder since this one has read the manifest.
func (f *folder) begin() (io.Closer, error) {
	if err := f.fs.MkdirAll(f.dir); err != nil {
		return nil, err
	}
	lock, err := f.fs.Lock(f.path(lockName))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.dir, err)
	}
	err = f.unchanged()
	var names []string
	if err == nil {
		names, err = f.fs.List(f.dir)
	}
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix) {
			err = errors.Join(err, f.fs.Remove(f.path(name)))
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// unchanged returns an error if the manifest is no longer the one that this run knows.
func (f *folder) unchanged() error {
	was := f.text
	if _, err := f.manifest(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if now := f.text; !bytes.Equal(now, was) {
		f.text = was
		return fmt.Errorf("%s/%s: %w", f.dir, manifestName, ErrReplaced)
	}
	return nil
}

func (f *folder) manifest() (text []byte, err error) {
	f.text, err = vfs.ReadFile(f.fs, f.path(manifestName), manifestBytesMax)
	return f.text, err
}

func (f *folder) replace(text []byte) error {
	if err := f.fs.SyncDir(f.dir); err != nil { // the names of what was kept
		return err
	}
	err := vfs.WriteFile(f.fs, f.path(manifestName), text)
	if err == nil {
		f.text = text
	}
	return err
}

func (f *folder) work(file string) string { return f.path(tmpPrefix + file) }

func (f *folder) keep(e *Entry, path string) error { return f.fs.Rename(path, f.path(e.File)) }

func (f *folder) fetch(e *Entry) (string, error) { return f.path(e.File), nil }

func (f *folder) check(e *Entry) error { return compareFile(f.fs, f.path(e.File), e.Bytes, e.SHA256) }

func (f *folder) list() ([]Stored, error) {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return nil, err
	}
	var all []Stored
	for _, name := range names {
		if !isFile(name) {
			continue
		}
		info, err := f.fs.Stat(f.path(name))
		if err != nil {
			return nil, err
		}
		all = append(all, Stored{Name: name, Bytes: info.Size()})
	}
	return all, nil
}

func (f *folder) name(e *Entry) string { return e.File }

func (f *folder) remove(names []string) (err error) {
	for _, name := range names {
		err = errors.Join(err, f.fs.Remove(f.path(name)))
	}
	return errors.Join(err, f.fs.SyncDir(f.dir))
}

// compareFile compares the size and the SHA-256 of a file.
func compareFile(fsys vfs.FS, path string, size int64, sum string) error {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	err = compare(f, size, sum)
	return errors.Join(err, f.Close())
}

// changedError says how a file differs from what the manifest says of it.
type changedError string

func (e changedError) Error() string { return string(e) }

// compare reads r and compares its size and its SHA-256. Of a reader that is too long it reads no more than a byte too
// many.
func compare(r io.Reader, size int64, sum string) error {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return err
	case n > size:
		return changedError(fmt.Sprintf("has more than %d bytes", size))
	case n < size:
		return changedError(fmt.Sprintf("has %d bytes, not %d", n, size))
	case hex.EncodeToString(h.Sum(nil)) != sum:
		return changedError("the SHA-256 is not that of the manifest: the file was changed")
	}
	return nil
}

func (f *folder) note(name string) error { return vfs.WriteFile(f.fs, f.path(name), nil) }

func (f *folder) noted(name string) (bool, error) {
	_, err := f.fs.Stat(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
