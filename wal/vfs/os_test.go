//go:build unix

package vfs

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestErrorsOfAFullDisk(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EDQUOT} {
		err := osError(&fs.PathError{Op: "write", Path: "f", Err: errno})
		require.ErrorIs(t, err, ErrNoSpace)
		require.ErrorIs(t, err, errno)
	}
	require.NotErrorIs(t, osError(unix.EIO), ErrNoSpace)
	require.NoError(t, osError(nil))
}
