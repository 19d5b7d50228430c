package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// ErrNoSpace is returned by operations that found the disk full or the quota used up. Some of the
// bytes may have been written: File.WriteAt and File.Write say how many.
var ErrNoSpace = errors.New("vfs: no space left on device")

// ErrTooManyOpen is returned by operations that had to open a file or directory and could not, because the process or
// the system has too many open: they have done nothing. It is an ErrNoSpace, too: to wait and to try again helps.
var ErrTooManyOpen error = noSpaceError{errors.New("vfs: too many open files"), true}

// ErrLocked is returned by FS.Lock if another process, or another caller in this one, holds the
// lock.
var ErrLocked = errors.New("vfs: file is locked by another process")

// FS is a filesystem. Names are paths in the form of package path/filepath. It may be used by
// many goroutines.
type FS interface {
	// Files and directories that are made are those of the user and, to read, of its group (0640, 0750), less what
	// the umask takes away.

	// Create opens name for reading and writing, empties it if it exists and creates it if not.
	// The directory must exist. The name is durable after SyncDir.
	Create(name string) (File, error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	// OpenWrite opens an existing file for reading and writing, at position 0.
	OpenWrite(name string) (File, error)
	// Remove removes a file or an empty directory. Files that are open stay usable.
	Remove(name string) error
	// Rename gives a file or a directory another name in one step. A file replaces one that has it. A directory
	// replaces nothing. Files that are open or locked stay so.
	Rename(oldName, newName string) error
	// List returns the names in dir, sorted, without the path.
	List(dir string) ([]string, error)
	// Stat returns size, kind and modification time of a file or directory.
	Stat(name string) (fs.FileInfo, error)
	// MkdirAll creates dir and its missing parents, durably.
	MkdirAll(dir string) error
	// SyncDir makes every Create, Rename and Remove in dir so far durable.
	SyncDir(dir string) error
	// Lock takes an exclusive advisory lock on name, creating the file if it is missing, or
	// returns ErrLocked. Closing the result, or the end of the process, releases it. The file
	// stays.
	Lock(name string) (io.Closer, error)
	// Free returns how many bytes may still be written to the filesystem that holds path, and its total size in
	// bytes.
	Free(path string) (free, total int64, err error)
}

// Permissions is implemented by filesystems that refuse some processes what others may do, as that of the operating
// system. Its methods change nothing.
type Permissions interface {
	// MayRead returns why this process may not read name, which exists.
	MayRead(name string) error
	// MayWrite returns why this process may not read and write name, which exists: the contents of a file, the
	// names in a directory.
	MayWrite(name string) error
}

// File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes contents and size durable (fdatasync). An error leaves both unknown.
	Sync() error
	// Truncate changes the size; bytes that are added are zero.
	Truncate(size int64) error
	// Size returns the size in bytes.
	Size() (int64, error)
}

// noSpaceError is an error of the operating system that means ErrNoSpace, and ErrTooManyOpen if so many are open.
type noSpaceError struct {
	error
	open bool
}

func (e noSpaceError) Is(target error) bool {
	return target == ErrNoSpace || target == ErrTooManyOpen && e.open
}
func (e noSpaceError) Unwrap() error { return e.error }
