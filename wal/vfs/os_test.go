//go:build unix

package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/must"
)

// Files of a data directory are closed to other users, regardless of the umask.
func TestNewFilesAreClosedToOtherUsers(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	fsys, dir := OS(), filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, fsys.MkdirAll(dir))
	require.NoError(t, must.Do(fsys.Create(filepath.Join(dir, "f")))(t).Close())
	require.NoError(t, must.Do(fsys.Lock(filepath.Join(dir, "l")))(t).Close())
	for name, want := range map[string]fs.FileMode{
		"f": 0o640, "l": 0o640, ".": fs.ModeDir | 0o750, "..": fs.ModeDir | 0o750,
	} {
		require.Equal(t, want, must.Do(fsys.Stat(filepath.Join(dir, name)))(t).Mode(), name)
	}
}

// A file that takes the place of another one is not to be read by more users.
func TestReplacedFileKeepsItsMode(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o644} {
		name := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(name, nil, mode))
		for range 2 {
			require.NoError(t, WriteFile(OS(), name, []byte("x")))
			require.Equal(t, mode, must.Do(os.Stat(name))(t).Mode())
		}
	}
}

func TestErrorsOfAFullDisk(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EDQUOT} {
		err := osError(&fs.PathError{Op: "write", Path: "f", Err: errno})
		require.ErrorIs(t, err, ErrNoSpace)
		require.ErrorIs(t, err, errno)
	}
	require.NotErrorIs(t, osError(unix.EIO), ErrNoSpace)
	require.NoError(t, osError(nil))
}

// A server that may open no more files waits until it may again, also to list a directory.
func TestListingNeedsADescriptor(t *testing.T) {
	fsys, dir := OS(), t.TempDir()
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	low := was
	low.Cur = 64
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }()
	for {
		f, err := fsys.Open(os.DevNull)
		if err != nil {
			require.ErrorIs(t, err, ErrTooManyOpen)
			break
		}
		defer f.Close()
	}
	require.ErrorIs(t, must.Err(fsys.List(dir)), ErrTooManyOpen)
	require.ErrorIs(t, fsys.SyncDir(dir), ErrTooManyOpen)
	require.ErrorIs(t, fsys.MkdirAll(filepath.Join(dir, "a")), ErrTooManyOpen)
	require.ErrorIs(t, must.Err(fsys.Lock(filepath.Join(dir, "l"))), ErrTooManyOpen)
}
