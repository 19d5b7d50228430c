package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// OS returns the filesystem of the operating system. All values it returns are the same
// filesystem.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}
func (osFS) Open(name string) (File, error)      { return openOS(name, os.O_RDONLY) }
func (osFS) OpenWrite(name string) (File, error) { return openOS(name, os.O_RDWR) }
func (osFS) Remove(name string) error            { return osError(os.Remove(name)) }
func (osFS) Rename(oldName, newName string) error {
	return osError(os.Rename(oldName, newName))
}
func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (osFS) List(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, osError(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// MkdirAll syncs the parent of every directory it makes, from the top down.
func (f osFS) MkdirAll(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if err := f.MkdirAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return osError(err)
	}
	return f.SyncDir(parent)
}

type osFile struct{ f *os.File }

func openOS(name string, flag int) (File, error) {
	f, err := openFile(name, flag)
	if err != nil {
		return nil, osError(err)
	}
	return &osFile{f}, nil
}

func (o *osFile) Read(b []byte) (int, error)              { return o.f.Read(b) }
func (o *osFile) ReadAt(b []byte, off int64) (int, error) { return o.f.ReadAt(b, off) }
func (o *osFile) Close() error                            { return osError(o.f.Close()) }
func (o *osFile) Truncate(size int64) error               { return osError(o.f.Truncate(size)) }

func (o *osFile) Write(b []byte) (int, error) {
	n, err := o.f.Write(b)
	return n, osError(err)
}

func (o *osFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := o.f.WriteAt(b, off)
	return n, osError(err)
}

func (o *osFile) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (o *osFile) Sync() error { return osError(syncData(o.f)) }

// osError marks the errors that mean a full disk, and a full table of open files: of the process or of the system.
func osError(err error) error {
	isOne := func(of error) bool { return errors.Is(err, of) }
	switch {
	case slices.ContainsFunc(diskFull, isOne):
		return noSpaceError{err, false}
	case slices.ContainsFunc(tableFull, isOne):
		return noSpaceError{err, true}
	}
	return err
}
