package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestStopClosesTheConnectionsOfTheMetricsPort(t *testing.T) {
	cfg := memConfig()
	cfg.Metrics.ClassName, cfg.Metrics.Host, cfg.Metrics.Port = config.PrometheusProvider, "127.0.0.1", 0
	s := started(t, cfg, Options{})
	nc := must.Dial(t, s.ops.exportAt.String())
	req := must.Do(http.NewRequest(http.MethodGet, "http://"+s.ops.exportAt.String()+"/metrics", nil))(t)
	require.NoError(t, req.Write(nc))
	_, err := nc.Read(make([]byte, 4096)) // the connection is served, and is kept alive
	require.NoError(t, err)
	s.Stop()
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	for err == nil {
		_, err = nc.Read(make([]byte, 64<<10))
	}
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed")
}

func TestRefusedConnectionsDoNotFloodTheLog(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	cfg := memConfig()
	cfg.MaxClientCnxns = 1
	s := serveMem(t, cfg, zap.New(core))
	dialWire(t, s, wire.Options{})
	began := time.Now()
	var held []net.Conn
	for range 16 + 100 { // 16 may ask for a word
		nc, err := net.Dial("tcp", s.Addr().String())
		if err == nil { // the refusal may be faster than the dialer
			held = append(held, nc)
		}
	}
	eventually(t, func() bool { return s.Metrics.ConnectionRejected.Total() >= 100 }, "all are refused")
	require.GreaterOrEqual(t, refused(t, s, env.RefusedByAddress), 100.0)
	for _, nc := range held {
		_ = nc.Close()
	}
	lines := logs.FilterMessage("refusing connection").Len()
	require.LessOrEqual(t, lines, env.LinesPerSecond*(2+int(time.Since(began)/time.Second)))
}

// stopsSoon fails the test if Stop waits for an event that may never happen.
func stopsSoon(t *testing.T, s *Server) {
	t.Helper()
	began := time.Now()
	s.Stop()
	require.Less(t, time.Since(began), hangGuard)
	require.Zero(t, s.front.Conns.Len())
}

func TestStopWhileTheLogWaitsForRoom(t *testing.T) {
	fs := vfs.NewMem()
	s := started(t, memConfig(), Options{FS: fs})
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/kept", nil, proto.ModePersistent)
	fs.SetCapacity(fs.Used() + 10)
	call := c.Send(wire.Create("/lost", make([]byte, 4096), wire.OpenACL, proto.ModePersistent))
	eventually(t, func() bool { return s.LogStalled.Load() != 0 && s.Guard.Full() }, "the log waits")
	waiting := dialRaw(t, s) // its session cannot be created any more
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 60_000})
	require.NoError(t, wire.WriteFrame(waiting, req.AppendTo(nil)))
	stopsSoon(t, s)
	require.Error(t, call.Wait(), "nothing that is not durable is acknowledged")

	fs.SetCapacity(64 << 20)
	s = running(t, memConfig(), Options{FS: fs})
	require.NotZero(t, s.Store.State.Lookup([]byte("/kept")))
	require.Zero(t, s.Store.State.Lookup([]byte("/lost")))
}

func TestStopWithAClientThatTakesNothing(t *testing.T) {
	s := started(t, memConfig(), Options{})
	dialWire(t, s, wire.Options{}).MustCreate(t, "/big", make([]byte, 900<<10), proto.ModePersistent)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	var b []byte
	for range 200 {
		b = frame(b, 1, wire.GetData("/big", false))
	}
	must.Do(nc.Write(b))(t)
	eventually(t, func() bool {
		stuck := false
		s.front.Conns.Each(func(c *serve.Conn) {
			v := c.View()
			stuck = stuck || v.Paused && v.Unsent > 0
		})
		return stuck
	}, "the reader waits for the drain")
	stopsSoon(t, s)
}

func TestStopWhileASnapshotIsWrittenAndClientsCome(t *testing.T) {
	s := started(t, memConfig(), Options{})
	c := dialWire(t, s, wire.Options{})
	var reqs []wire.Request
	for i := range 2000 {
		reqs = append(reqs, wire.Create(fmt.Sprintf("/n%04d", i), make([]byte, 1000), wire.OpenACL,
			proto.ModePersistent))
	}
	calls := c.SendAll(reqs)
	require.NoError(t, calls[len(calls)-1].Wait())
	s.disk.Snapshotter.Request()
	var dialers sync.WaitGroup
	addr := s.Addr().String()
	for range 8 {
		dialers.Go(func() {
			for {
				c, err := wire.Dial(addr, wire.Options{Reply: time.Second})
				if err != nil {
					return
				}
				c.Close()
			}
		})
	}
	stopsSoon(t, s)
	dialers.Wait()
}

func TestStartThatFailsGivesEverythingBack(t *testing.T) {
	taken := must.Listen(t)
	fs := vfs.NewMem()
	cfg := memConfig()
	cfg.ClientPort = taken.Addr().(*net.TCPAddr).Port
	cfg.Audit.Enabled, cfg.Audit.File = true, "/audit.log"
	var bind *serve.BindError
	require.ErrorAs(t, New(cfg, Options{FS: fs, Meta: meta.NewMem(1)}).Start(), &bind)
	require.Empty(t, fs.OpenFiles())

	eio := errors.New("input/output error")
	fs.Hook(func(op vfs.Op) error {
		if strings.Contains(op.Name, "snapshot.") {
			return eio
		}
		return nil
	})
	var data *durable.DataError
	require.ErrorAs(t, New(memConfig(), Options{FS: fs, Meta: meta.NewMem(1)}).Start(), &data)
	fs.Hook(nil)

	s := New(memConfig(), Options{FS: fs, Meta: meta.NewMem(1)})
	require.NoError(t, s.Start(), "locks and files were given back")
	s.Stop()
}

// A start that fails leaves no goroutine behind, such as those that look whether certificates have changed.
func TestStartThatFailsEndsItsGoroutines(t *testing.T) {
	taken := must.Listen(t)
	s := newSecureExporter(t, pki.NewCA("exporter"), func(*config.Metrics) {})
	s.Config.ClientPort = taken.Addr().(*net.TCPAddr).Port
	before := goleak.IgnoreCurrent()
	var bind *serve.BindError
	require.ErrorAs(t, s.Start(), &bind)
	require.NoError(t, goleak.Find(before))
}
