package vfs

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// ErrTooLarge is returned by ReadFile for a file with more bytes than its caller takes.
var ErrTooLarge = errors.New("the file is larger than allowed")

// ReadFile returns the content of a file with at most most bytes.
func ReadFile(fs FS, name string, most int64) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%s: %w: larger than %d bytes", name, ErrTooLarge, most)
	}
	return b, nil
}

// Files returns the names in dir, sorted, of everything but directories: a directory may have any name, and holds
// nothing of what its name promises.
func Files(fs FS, dir string) ([]string, error) {
	names, err := fs.List(dir)
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := fs.Stat(filepath.Join(dir, name))
		return err == nil && info.IsDir()
	}), err
}

// WriteFile gives a file its content in one step, durably: after a crash it is the old file or the new one, whole.
// The bytes are written to name with the suffix .tmp first; that file is removed if they cannot be written. Mode and
// owner stay as they are: see Like.
func WriteFile(fs FS, name string, b []byte) error {
	tmp := name + ".tmp"
	f, err := fs.Create(tmp)
	if err != nil {
		return err
	}
	if err = Like(fs, tmp, name); err == nil {
		_, err = f.Write(b)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", tmp, errors.Join(err, fs.Remove(tmp)))
	}
	return errors.Join(fs.Rename(tmp, name), fs.SyncDir(filepath.Dir(name)))
}
