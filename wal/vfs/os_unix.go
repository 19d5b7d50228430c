//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	diskFull  = []error{unix.ENOSPC, unix.EDQUOT}
	tableFull = []error{unix.EMFILE, unix.ENFILE}
)

func openFile(name string, flag int) (*os.File, error) { return os.OpenFile(name, flag, 0o640) }

// uninterrupted makes a system call again as long as a signal interrupts it.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return osError(err)
	}
	return errors.Join(osError(d.Sync()), d.Close())
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, osError(err)
	}
	err = uninterrupted(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		return f, nil
	}
	f.Close()
	if err == unix.EWOULDBLOCK {
		return nil, fmt.Errorf("%w: %s", ErrLocked, name)
	}
	return nil, &fs.PathError{Op: "flock", Path: name, Err: err}
}

func (osFS) Free(path string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := uninterrupted(func() error { return unix.Statfs(path, &st) }); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	size := int64(st.Bsize)
	return int64(st.Bavail) * size, int64(st.Blocks) * size, nil
}

// MayRead implements Permissions.
func (osFS) MayRead(name string) error { return access(name, unix.R_OK) }

// MayWrite implements Permissions.
func (osFS) MayWrite(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return access(name, unix.R_OK|unix.W_OK|unix.X_OK)
	}
	return access(name, unix.R_OK|unix.W_OK)
}

func access(name string, mode uint32) error {
	if err := unix.Access(name, mode); err != nil {
		return &fs.PathError{Op: "access", Path: name, Err: err}
	}
	return nil
}

// takeOwner gives a file the owner of another one, where this process may.
func takeOwner(name string, model fs.FileInfo) error {
	st, ok := model.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if err := os.Chown(name, int(st.Uid), int(st.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
