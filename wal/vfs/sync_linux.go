package vfs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// syncData is fdatasync: contents, and of the metadata only what is needed to read them back.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var syncErr error
	if conn.Control(func(fd uintptr) {
		syncErr = uninterrupted(func() error { return unix.Fdatasync(int(fd)) })
	}) != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: fs.ErrClosed}
	}
	if syncErr != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: syncErr}
	}
	return nil
}
