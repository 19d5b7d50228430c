package server

import (
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestApplierStopsAtATxnThatCannotBeApplied(t *testing.T) {
	s := New(memConfig(), Options{})
	s.metrics = newMetrics(s)
	s.store = newStore(datatree.NewState(datatree.Config{}))
	a := newApplier(s, nil)
	b := &logBatch{framed: []byte("no txn"), items: []item{{payload: span{0, 6}}, {payload: span{0, 6}}}}
	a.apply(b)
	require.ErrorIs(t, <-s.failed, ErrDurability)
	require.True(t, a.failed)
	a.apply(&logBatch{framed: []byte("no txn"), items: []item{{payload: span{0, 6}}}})
	require.Empty(t, s.failed, "nothing more is applied")
}

func TestStopClosesTheConnectionsOfTheMetricsPort(t *testing.T) {
	cfg := memConfig()
	cfg.Metrics.ClassName, cfg.Metrics.Host, cfg.Metrics.Port = config.PrometheusProvider, "127.0.0.1", 0
	s := New(cfg, Options{FS: vfs.NewMem(), Meta: meta.NewMem(1)})
	require.NoError(t, s.Start())
	nc, err := net.Dial("tcp", s.metricsLn.Addr().String())
	require.NoError(t, err)
	defer nc.Close()
	req, err := http.NewRequest(http.MethodGet, "http://"+s.metricsLn.Addr().String()+"/metrics", nil)
	require.NoError(t, err)
	require.NoError(t, req.Write(nc))
	_, err = nc.Read(make([]byte, 4096)) // the connection is served, and is kept alive
	require.NoError(t, err)
	s.Stop()
	_ = nc.SetReadDeadline(time.Now().Add(5 * time.Second))
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
	var held []net.Conn
	for range wordReserve + 100 {
		nc, err := net.Dial("tcp", s.Addr().String())
		if err == nil { // the refusal may be faster than the dialer
			held = append(held, nc)
		}
	}
	eventually(t, func() bool { return s.metrics.connectionRejected.value.Load() >= 100 }, "all are refused")
	for _, nc := range held {
		_ = nc.Close()
	}
	require.LessOrEqual(t, logs.FilterMessage("refusing connection").Len(), 5)
}
