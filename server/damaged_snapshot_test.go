package server

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// A directory that has snapshots, but none that can be read, is not a new directory.
func TestNoEmptyTreeBesideADamagedSnapshot(t *testing.T) {
	fs := vfs.NewMem()
	s := started(t, memConfig(), Options{FS: fs})
	dir := s.SnapDir()
	s.Stop()
	for _, name := range []string{"snapshot.0", "log.1"} {
		if _, err := fs.Stat(filepath.Join(dir, name)); err == nil {
			require.NoError(t, fs.Remove(filepath.Join(dir, name)))
		}
	}
	require.NoError(t, vfs.WriteFile(fs, filepath.Join(dir, "snapshot.1234"), nil))
	require.ErrorIs(t, New(memConfig(), Options{FS: fs, Meta: meta.NewMem(1)}).Start(), snapshot.ErrUnlinked)
}
