package server

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// orderBytes takes a snapshot of a server and returns its bytes.
func orderBytes(t *testing.T, s *Server) []byte {
	t.Helper()
	d := s.snapshotter.order(context.Background())
	require.NoError(t, d.err)
	defer d.file.Close()
	size, err := d.file.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	_, err = d.file.ReadAt(b, 0)
	require.NoError(t, err)
	return b
}

func TestRestoreReplacesTheState(t *testing.T) {
	for _, compression := range []string{"", "gz", "snappy"} {
		t.Run("compression "+compression, func(t *testing.T) {
			cfg := memConfig()
			cfg.SnapshotCompression = compression
			s := serveMem(t, cfg, nil)
			c := dialWire(t, s, wire.Options{})
			for i := range 50 {
				_, err := c.Create(fmt.Sprintf("/kept%d", i), []byte("x"), proto.ModePersistent)
				require.NoError(t, err)
			}
			image := orderBytes(t, s)
			digest := s.store.state.Digest()
			for i := range 30 {
				_, err := c.Create(fmt.Sprintf("/lost%d", i), nil, proto.ModePersistent)
				require.NoError(t, err)
			}
			before := s.store.lastZxid()

			zxid, err := adminNode{s}.Restore(t.Context(), bytes.NewReader(image))
			require.NoError(t, err)
			require.Equal(t, int64(before), zxid, "clients must not see time go back")
			require.NoError(t, c.WaitClosed(), "a client that has seen another state has to come back")
			c = dialWire(t, s, wire.Options{LastZxid: before})
			require.Equal(t, digest, s.store.state.Digest()) // nobody writes
			_, err = c.Exists("/lost0", false)
			require.ErrorIs(t, err, proto.ErrNoNode)
			_, err = c.Create("/after", nil, proto.ModePersistent)
			require.NoError(t, err)
		})
	}
}

func TestRestoreSurvivesARestart(t *testing.T) {
	fs := vfs.NewMem()
	start := func() *Server {
		s := New(memConfig(), Options{FS: fs, Meta: meta.NewMem(1), Version: testVersion})
		require.NoError(t, s.Start())
		return s
	}
	s := start()
	c := dialWire(t, s, wire.Options{})
	_, err := c.Create("/kept", nil, proto.ModePersistent)
	require.NoError(t, err)
	image := orderBytes(t, s)
	_, err = c.Create("/lost", nil, proto.ModePersistent)
	require.NoError(t, err)
	_, err = adminNode{s}.Restore(t.Context(), bytes.NewReader(image))
	require.NoError(t, err)
	c = dialWire(t, s, wire.Options{})
	_, err = c.Create("/after", nil, proto.ModePersistent)
	require.NoError(t, err)
	want := s.store.state.Digest()
	c.Close()
	s.Stop()

	again := start()
	defer again.Stop()
	again.store.mu.RLock()
	got := again.store.state.Digest()
	again.store.mu.RUnlock()
	require.Equal(t, want, got)
	c = dialWire(t, again, wire.Options{})
	_, err = c.Exists("/lost", false)
	require.ErrorIs(t, err, proto.ErrNoNode)
	_, err = c.Exists("/after", false)
	require.NoError(t, err)
}

func TestRestoreRefusesDamage(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{})
	_, err := c.Create("/kept", []byte("x"), proto.ModePersistent)
	require.NoError(t, err)
	image := orderBytes(t, s)
	for _, bad := range [][]byte{nil, []byte("short"), image[:len(image)/2], append([]byte{0}, image...), bytes.Repeat([]byte{7}, 1000)} {
		_, err := adminNode{s}.Restore(t.Context(), bytes.NewReader(bad))
		require.Error(t, err)
	}
	image[len(image)/2] ^= 1
	_, err = adminNode{s}.Restore(t.Context(), bytes.NewReader(image))
	require.ErrorIs(t, err, snapshot.ErrCorrupt)
	_, err = c.Exists("/kept", false)
	require.NoError(t, err, "nothing has changed")
	s.serving.Store(false)
	_, err = adminNode{s}.Restore(t.Context(), bytes.NewReader(image))
	require.ErrorIs(t, err, admin.ErrCannotRestore)
	s.serving.Store(true)
}
