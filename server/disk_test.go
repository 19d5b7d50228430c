package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// memOptions puts a server on a filesystem in memory.
func memOptions(t *testing.T, fs *vfs.Mem) server.Options {
	return server.Options{FS: fs, Meta: meta.NewMem(1), Log: zaptest.NewLogger(t)}
}

func TestFullDiskRefusesWritesKeepsReadsAndRecovers(t *testing.T) {
	fs := vfs.NewMem()
	cfg := testConfig(t)
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	cfg.DiskWatermark.Bytes = 256 << 10
	fs.SetCapacity(1 << 20)
	o := memOptions(t, fs)
	o.Registry = prometheus.NewRegistry()
	addr, _ := start(t, cfg, o)
	full := func() float64 {
		families := must.Do(o.Registry.Gather())(t)
		i := slices.IndexFunc(families,
			func(f *dto.MetricFamily) bool { return f.GetName() == "warren_server_disk_full" })
		require.GreaterOrEqual(t, i, 0)
		return families[i].Metric[0].GetGauge().GetValue()
	}
	require.Zero(t, full())
	c := dial(t, addr, wire.Options{TimeoutMs: 60_000})
	c.MustCreate(t, "/kept", []byte("x"), proto.ModePersistent)

	data := make([]byte, 32<<10)
	acknowledged := 0
	for ; ; acknowledged++ {
		_, err := c.Create(fmt.Sprintf("/n%04d", acknowledged), data, proto.ModePersistent)
		if err != nil {
			require.ErrorIs(t, err, proto.ErrNotReadOnly)
			break
		}
		require.Less(t, acknowledged, 100, "the disk must fill up")
	}
	require.Equal(t, 1.0, full())
	c.MustGetData(t, "/kept", false)
	require.NoError(t, c.Ping())
	other := dial(t, addr, wire.Options{})
	require.NoError(t, other.CloseSession(), "sessions still begin and end below the watermark")

	fs.SetCapacity(64 << 20)
	require.Eventually(t, func() bool {
		_, err := c.Create("/again", nil, proto.ModePersistent)
		return err == nil
	}, hangGuard, 50*time.Millisecond)
	require.Len(t, c.MustChildren(t, "/", false), acknowledged+3)
}

func TestLogWithoutRoomDelaysWritesAndLosesNone(t *testing.T) {
	fs := vfs.NewMem()
	cfg := testConfig(t)
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	addr, _ := start(t, cfg, memOptions(t, fs))
	c := dial(t, addr, wire.Options{TimeoutMs: 60_000})
	fs.SetCapacity(fs.Used() + 10)
	call := c.Send(wire.Create("/late", make([]byte, 4096), wire.OpenACL, proto.ModePersistent))
	select {
	case <-call.Done():
		t.Fatalf("answered without room: %v", call.Wait())
	case <-time.After(300 * time.Millisecond):
	}
	fs.SetCapacity(64 << 20)
	require.NoError(t, call.Wait())
	require.NoError(t, call.Reply.Err())
}

func TestFailedSyncEndsTheNodeAndAcknowledgesNothing(t *testing.T) {
	fs := vfs.NewMem()
	cfg := testConfig(t)
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	s := server.New(cfg, memOptions(t, fs))
	require.NoError(t, s.Start())
	c := dial(t, s.Addr().String(), wire.Options{TimeoutMs: 60_000})
	c.MustCreate(t, "/before", nil, proto.ModePersistent)
	var broken atomic.Bool
	broken.Store(true)
	eio := errors.New("input/output error")
	fs.Hook(func(op vfs.Op) error {
		if broken.Load() && op.Kind == vfs.OpSync && strings.Contains(op.Name, "log.") {
			return eio
		}
		return nil
	})
	call := c.Send(wire.Create("/after", nil, wire.OpenACL, proto.ModePersistent))
	require.ErrorIs(t, s.Wait(context.Background()), server.ErrDurability)
	s.Stop()
	require.Error(t, call.Wait(), "nothing that is not durable may be acknowledged")

	// Acknowledged writes survive a power failure as well.
	clone := fs.CrashClone(rand.New(rand.NewPCG(1, 2)), vfs.CrashOptions{})
	addr, _ := start(t, cfg, memOptions(t, clone))
	c = dial(t, addr, wire.Options{})
	c.MustExists(t, "/before", false)
}

func TestSecondServerOnADirectoryIsRefused(t *testing.T) {
	cfg := testConfig(t)
	start(t, cfg, server.Options{})
	err := server.New(cfg, server.Options{}).Start()
	var dataErr *server.DataError
	require.ErrorAs(t, err, &dataErr)
	require.Equal(t, 3, dataErr.ExitCode())
	require.ErrorIs(t, err, vfs.ErrLocked)
}

func TestBoundPortIsAnErrorWithItsExitCode(t *testing.T) {
	ln := must.Listen(t)
	cfg := testConfig(t)
	cfg.ClientPort = ln.Addr().(*net.TCPAddr).Port
	err := server.New(cfg, server.Options{}).Start()
	var bindErr *server.BindError
	require.ErrorAs(t, err, &bindErr)
	require.Equal(t, 14, bindErr.ExitCode())
}

func TestSnapshotsAreWrittenAndOldOnesPurgedUnderLoad(t *testing.T) {
	cfg := testConfig(t)
	cfg.SnapCount = 100
	fs := vfs.NewMem()
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	addr, stop := start(t, cfg, memOptions(t, fs))
	c := dial(t, addr, wire.Options{TimeoutMs: 60_000})
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	version := int32(0)
	snapshots := func() []string {
		names := must.Do(fs.List(filepath.Join(cfg.DataDir, "version-2")))(t)
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "snapshot.") })
	}
	require.Eventually(t, func() bool {
		for range 50 {
			c.MustSetData(t, "/n", []byte(fmt.Sprint(version)), version)
			version++
		}
		_, err := fs.Stat(filepath.Join(cfg.DataDir, "version-2", "snapshot.0"))
		return err != nil && len(snapshots()) >= 3
	}, hangGuard, time.Millisecond)
	stop()
	require.LessOrEqual(t, len(snapshots()), 4)
	addr, _ = start(t, cfg, memOptions(t, fs))
	c = dial(t, addr, wire.Options{})
	data, stat := c.MustGetData(t, "/n", false)
	require.Equal(t, version, stat.Version)
	require.Equal(t, fmt.Sprint(version-1), string(data))
}
