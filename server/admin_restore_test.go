package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// orderBytes takes a snapshot of a server and returns its bytes.
func orderBytes(t *testing.T, s *Server) []byte {
	t.Helper()
	d := s.disk.Snapshotter.Order(context.Background())
	require.NoError(t, d.Err)
	defer d.File.Close()
	size := must.Do(d.File.Size())(t)
	b := make([]byte, size)
	must.Do(d.File.ReadAt(b, 0))(t)
	return b
}

func TestRestoreReplacesTheState(t *testing.T) {
	for _, compression := range []string{"", "gz", "snappy"} {
		t.Run("compression "+compression, func(t *testing.T) {
			cfg := memConfig()
			cfg.SnapshotCompression = compression
			s, c := serveOne(t, cfg)
			for i := range 50 {
				c.MustCreate(t, fmt.Sprintf("/kept%d", i), []byte("x"), proto.ModePersistent)
			}
			image := orderBytes(t, s)
			digest := s.Store.State.Digest()
			for i := range 30 {
				c.MustCreate(t, fmt.Sprintf("/lost%d", i), nil, proto.ModePersistent)
			}
			before := s.Store.LastZxid()

			zxid := must.Do(s.ops.live.Restore(bytes.NewReader(image)))(t)
			require.Equal(t, int64(proto.MakeZxid(before.Epoch()+1, 1)), zxid, "clients must not see time go back")
			require.NoError(t, c.WaitClosed(), "a client that has seen another state has to come back")
			_, err := wire.Dial(s.Addr().String(), c.Resume())
			require.ErrorIs(t, err, wire.ErrRejected, "the session has expired")
			c = dialWire(t, s, wire.Options{LastZxid: before})
			require.Equal(t, digest, s.Store.State.Digest()) // no client writes
			require.ErrorIs(t, must.Err(c.Exists("/lost0", false)), proto.ErrNoNode)
			c.MustCreate(t, "/after", nil, proto.ModePersistent)
		})
	}
}

func TestRestoreSurvivesARestart(t *testing.T) {
	fs, epochs := vfs.NewMem(), meta.NewMem(1)
	s := restarted(t, fs, epochs)
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/kept", nil, proto.ModePersistent)
	c.MustCreate(t, "/here", nil, proto.ModeEphemeral)
	image := orderBytes(t, s)
	c.MustCreate(t, "/lost", nil, proto.ModePersistent)
	must.Do(s.ops.live.Restore(bytes.NewReader(image)))(t)
	c = dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/after", nil, proto.ModePersistent)
	want := s.Store.State.Digest()
	c.Close()
	s.Stop()
	require.Equal(t, meta.Epochs{Accepted: 1, Current: 1}, epochs.Epochs(),
		"as a member this server takes part with what it has")
	lineage := must.Do(zab.ParseLineage([]byte(epochs.Lineage())))(t)
	require.True(t, lineage.Final)
	require.Equal(t, []zab.Reign{{Epoch: 1, Leader: -1, Gap: true}}, lineage.Reigns,
		"no other server has the txns of the epoch")

	again := restarted(t, fs, epochs)
	defer again.Stop()
	again.Store.Mu.RLock()
	got := again.Store.State.Digest()
	again.Store.Mu.RUnlock()
	require.Equal(t, want, got)
	c = dialWire(t, again, wire.Options{})
	require.ErrorIs(t, must.Err(c.Exists("/lost", false)), proto.ErrNoNode)
	require.ErrorIs(t, must.Err(c.Exists("/here", false)), proto.ErrNoNode, "its session has ended")
	c.MustExists(t, "/after", false)
}

// What has come of a snapshot that is being received takes no room after a crash.
func TestReceivedSnapshotIsGoneAfterACrash(t *testing.T) {
	fs := vfs.NewMem()
	s := running(t, memConfig(), Options{FS: fs})
	image := orderBytes(t, s)
	names := func(fs *vfs.Mem) []string {
		all := must.Do(fs.List("/data/version-2"))(t)
		return all
	}
	before := names(fs)
	var crashed *vfs.Mem
	_, err := s.ops.live.Restore(io.MultiReader(bytes.NewReader(image), readerFunc(func([]byte) (int, error) {
		crashed = fs.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{UnsyncedPercent: 100})
		return 0, errors.New("the client is gone")
	})))
	require.ErrorContains(t, err, "the client is gone")
	require.Len(t, names(crashed), len(before)+1)
	running(t, memConfig(), Options{FS: crashed})
	require.Equal(t, before, names(crashed))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// The snapshot of a restore that has failed is newer than all that is written afterwards: no start may find it.
func TestFailedRestoreIsTakenBack(t *testing.T) {
	for name, fails := range map[string]func(fs *vfs.Mem, epochs *meta.Mem){
		"the name is not durable": func(fs *vfs.Mem, _ *meta.Mem) { fs.FailNth(vfs.OpSyncDir, 0, vfs.ErrTooManyOpen) },
		"no room in meta.db": func(fs *vfs.Mem, epochs *meta.Mem) {
			fs.Hook(func(op vfs.Op) error {
				if op.Kind == vfs.OpRename {
					epochs.FailNext(vfs.ErrNoSpace, false)
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs, epochs := vfs.NewMem(), meta.NewMem(1)
			s := restarted(t, fs, epochs)
			image := orderBytes(t, s)
			c := dialWire(t, s, wire.Options{})
			c.MustCreate(t, "/before", nil, proto.ModePersistent)
			fails(fs, epochs)
			require.ErrorIs(t, must.Err(s.ops.live.Restore(bytes.NewReader(image))), vfs.ErrNoSpace)
			fs.Hook(nil)
			c = dialWire(t, s, wire.Options{})
			c.MustCreate(t, "/after", nil, proto.ModePersistent)
			c.Close()
			s.Stop()

			again := restarted(t, fs, epochs)
			defer again.Stop()
			c = dialWire(t, again, wire.Options{})
			for _, path := range []string{"/before", "/after"} {
				require.NoError(t, must.Err(c.Exists(path, false)), path)
			}
		})
	}
}

func TestRestoreRefusesDamage(t *testing.T) {
	s, c := serveOne(t, memConfig())
	c.MustCreate(t, "/kept", []byte("x"), proto.ModePersistent)
	image := orderBytes(t, s)
	for _, bad := range [][]byte{nil, []byte("short"), image[:len(image)/2], append([]byte{0}, image...),
		bytes.Repeat([]byte{7}, 1000)} {
		require.Error(t, must.Err(s.ops.live.Restore(bytes.NewReader(bad))))
	}
	image[len(image)/2] ^= 1
	require.ErrorIs(t, must.Err(s.ops.live.Restore(bytes.NewReader(image))), snapshot.ErrCorrupt)
	require.NoError(t, must.Err(c.Exists("/kept", false)), "nothing has changed")
	s.Doors.Bar()
	require.ErrorIs(t, must.Err(s.ops.live.Restore(bytes.NewReader(image))), orders.ErrCannotRestore)
	s.Doors.Open()
}

// A second restore that comes while the first one still receives its snapshot is refused, and costs the first nothing.
func TestRestoreRefusesASecondOne(t *testing.T) {
	s, c := serveOne(t, memConfig())
	c.MustCreate(t, "/kept", []byte("x"), proto.ModePersistent)
	image := orderBytes(t, s)
	r, w := io.Pipe()
	first := make(chan error, 1)
	go func() {
		_, err := s.ops.live.Restore(r)
		first <- err
	}()
	must.Do(w.Write(image[:len(image)/2]))(t)
	require.ErrorIs(t, must.Err(s.ops.live.Restore(bytes.NewReader(image))), orders.ErrCannotRestore)
	must.Do(w.Write(image[len(image)/2:]))(t)
	require.NoError(t, w.Close())
	require.NoError(t, <-first)
	require.NoError(t, must.Err(s.ops.live.Restore(bytes.NewReader(image))), "the next one may come")
}

// A client that the ACL of the root does not name may neither replace the state nor fetch all of it, even if the root
// is open to the world.
func TestRestoreNeedsEveryPermissionOnTheRoot(t *testing.T) {
	cfg := memConfig()
	cfg.Admin.Enabled, cfg.Admin.Address, cfg.Admin.Port, cfg.Admin.RateLimiterInterval = true, "127.0.0.1", 0, 0
	cfg.SuperDigest = auth.DigestIdentity("super:secret").ID
	s, c := serveOne(t, cfg)
	image := orderBytes(t, s)
	c.MustCreate(t, "/kept", nil, proto.ModePersistent)
	post := func(as string) int {
		header := http.Header{"Content-Type": {"application/octet-stream"}}
		if as != "" {
			header.Set("Authorization", as)
		}
		status, _ := send(t, s, http.MethodPost, "/commands/restore", header, bytes.NewReader(image))
		return status
	}
	require.Equal(t, http.StatusUnauthorized, post(""))
	require.NoError(t, c.Auth("digest", "alice:pw"))
	for _, auth := range []string{"ip", "digest alice:pw"} {
		require.Equal(t, http.StatusForbidden, post(auth), "while the root is open to the world: %s", auth)
	}
	owned := append(wire.ACL(proto.PermAll, "world", "anyone"), wire.ACL(proto.PermAll, "auth", "")...)
	c.MustSetACL(t, "/", owned, -1)
	for auth, want := range map[string]int{"ip": http.StatusForbidden, "digest alice:wrong": http.StatusForbidden,
		"basic YTpi": http.StatusUnauthorized} {
		require.Equal(t, want, post(auth), auth)
	}
	require.NoError(t, must.Err(c.Exists("/kept", false)), "nothing was replaced")
	require.Equal(t, http.StatusOK, post("digest alice:pw"))
	require.Equal(t, http.StatusForbidden, post("digest alice:pw"),
		"the root of the restored state is open, and names nobody")
	require.Equal(t, http.StatusOK, post("digest super:secret"))
}

// TestRestoreIsInterrupted cuts the power at every change of the disk during a restore. A restart recovers the tree
// from before, or the restored one, and goes on from there.
func TestRestoreIsInterrupted(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	disk := vfs.NewMem()
	s := restarted(t, disk, meta.NewMem(1))
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/kept", nil, proto.ModePersistent)
	image := orderBytes(t, s)
	for range 3 {
		c.MustCreate(t, "/lost", nil, proto.ModePersistentSequential)
	}
	c.Close()
	s.Stop()

	errCrash := errors.New("crash")
	olds, news := 0, 0
	for n, over := 0, true; over; n++ {
		fs, epochs := disk.CrashClone(rng, vfs.CrashOptions{}), meta.NewMem(1)
		s := restarted(t, fs, epochs)
		var changes atomic.Int64
		fs.Hook(func(op vfs.Op) error {
			if op.Kind.Changes() && changes.Add(1) > int64(n) {
				return errCrash
			}
			return nil
		})
		_, err := s.ops.live.Restore(bytes.NewReader(image))
		over = changes.Load() > int64(n)
		require.True(t, over || err == nil, err)
		left := fs.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: 50})
		fs.Hook(nil)
		s.Stop()
		for range 2 {
			s := restarted(t, left, epochs)
			c := dialWire(t, s, wire.Options{})
			require.NoError(t, must.Err(c.Exists("/kept", false)), "change %d", n)
			_, err := c.Exists("/lost0000000003", false)
			require.Equal(t, err == nil, c.LastZxid().Epoch() == 0, "change %d", n)
			if err == nil {
				olds++
			} else {
				require.ErrorIs(t, err, proto.ErrNoNode)
				news++
			}
			c.MustCreate(t, "/after", nil, proto.ModePersistentSequential)
			c.Close()
			s.Stop()
		}
	}
	require.Greater(t, olds, 10)
	require.Greater(t, news, 5)
}
