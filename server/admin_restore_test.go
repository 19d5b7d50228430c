package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/internal/words"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// orderBytes takes a snapshot of a server and returns its bytes.
func orderBytes(t *testing.T, s *Server) []byte {
	t.Helper()
	d := s.disk.Snapshotter.Order(context.Background())
	require.NoError(t, d.Err)
	defer d.File.Close()
	size, err := d.File.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	_, err = d.File.ReadAt(b, 0)
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
			digest := s.Store.State.Digest()
			for i := range 30 {
				_, err := c.Create(fmt.Sprintf("/lost%d", i), nil, proto.ModePersistent)
				require.NoError(t, err)
			}
			before := s.Store.LastZxid()

			zxid, err := words.AdminNode{Reporter: s.words}.Restore(t.Context(), bytes.NewReader(image))
			require.NoError(t, err)
			require.Equal(t, int64(before), zxid, "clients must not see time go back")
			require.NoError(t, c.WaitClosed(), "a client that has seen another state has to come back")
			c = dialWire(t, s, wire.Options{LastZxid: before})
			require.Equal(t, digest, s.Store.State.Digest()) // nobody writes
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
	_, err = words.AdminNode{Reporter: s.words}.Restore(t.Context(), bytes.NewReader(image))
	require.NoError(t, err)
	c = dialWire(t, s, wire.Options{})
	_, err = c.Create("/after", nil, proto.ModePersistent)
	require.NoError(t, err)
	want := s.Store.State.Digest()
	c.Close()
	s.Stop()

	again := start()
	defer again.Stop()
	again.Store.Mu.RLock()
	got := again.Store.State.Digest()
	again.Store.Mu.RUnlock()
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
		_, err := words.AdminNode{Reporter: s.words}.Restore(t.Context(), bytes.NewReader(bad))
		require.Error(t, err)
	}
	image[len(image)/2] ^= 1
	_, err = words.AdminNode{Reporter: s.words}.Restore(t.Context(), bytes.NewReader(image))
	require.ErrorIs(t, err, snapshot.ErrCorrupt)
	_, err = c.Exists("/kept", false)
	require.NoError(t, err, "nothing has changed")
	s.Accepting.Store(false)
	_, err = words.AdminNode{Reporter: s.words}.Restore(t.Context(), bytes.NewReader(image))
	require.ErrorIs(t, err, admin.ErrCannotRestore)
	s.Accepting.Store(true)
}

// Whoever may not do everything with the root may neither replace the state nor see all of it; where the root is open, everybody may.
func TestRestoreNeedsEveryPermissionOnTheRoot(t *testing.T) {
	cfg := memConfig()
	cfg.Admin.Enabled, cfg.Admin.Address, cfg.Admin.Port, cfg.Admin.RateLimiterInterval = true, "127.0.0.1", 0, 0
	s := serveMem(t, cfg, nil)
	c := dialWire(t, s, wire.Options{})
	image := orderBytes(t, s)
	_, err := c.Create("/kept", nil, proto.ModePersistent)
	require.NoError(t, err)
	post := func(auth string) int {
		r, err := http.NewRequest(http.MethodPost, "http://"+s.AdminAddr().String()+"/commands/restore", bytes.NewReader(image))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/octet-stream")
		if auth != "" {
			r.Header.Set("Authorization", auth)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(r)
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusUnauthorized, post(""))
	require.NoError(t, c.Auth("digest", "alice:pw"))
	owned := append(wire.ACL(proto.PermAll&^proto.PermAdmin, "world", "anyone"), wire.ACL(proto.PermAdmin, "auth", "")...)
	_, err = c.SetACL("/", owned, -1)
	require.NoError(t, err)
	for auth, want := range map[string]int{"ip": http.StatusForbidden, "digest alice:wrong": http.StatusForbidden, "basic YTpi": http.StatusUnauthorized} {
		require.Equal(t, want, post(auth), auth)
	}
	_, err = c.Exists("/kept", false)
	require.NoError(t, err, "nothing was replaced")
	require.Equal(t, http.StatusOK, post("digest alice:pw"))
	require.Equal(t, http.StatusOK, post("ip"), "the root of the restored state is open")
}
