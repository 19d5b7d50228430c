package server

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memConfig is a small standalone server with its data in memory.
func memConfig() *config.Config {
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	cfg.ClientPort, cfg.ClientPortAddress = 0, "127.0.0.1"
	cfg.PreAllocSizeKB = 0
	cfg.TickTime = 200 * time.Millisecond
	cfg.MinSessionTimeout, cfg.MaxSessionTimeout = 400*time.Millisecond, 60*time.Second
	cfg.FourLetterWhitelist = []string{"*"}
	cfg.MaxClientCnxns = 0
	cfg.DiskWatermark.Bytes, cfg.DiskWatermark.Percent = 0, 0
	return cfg
}

// started starts a server. It is in memory as far as o does not say where it is.
func started(t testing.TB, cfg *config.Config, o Options) *Server {
	t.Helper()
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	if o.Meta == nil {
		o.Meta = meta.NewMem(1)
	}
	o.Version = testVersion
	s := New(cfg, o)
	require.NoError(t, s.Start())
	return s
}

// running is started, until the test ends.
func running(t testing.TB, cfg *config.Config, o Options) *Server {
	t.Helper()
	s := started(t, cfg, o)
	t.Cleanup(s.Stop)
	return s
}

// serveMem runs a server on a filesystem in memory until the test ends.
func serveMem(t testing.TB, cfg *config.Config, log *zap.Logger) *Server {
	t.Helper()
	return running(t, cfg, Options{Log: log})
}

// restarted starts a server on what a stopped one has left.
func restarted(t testing.TB, fs *vfs.Mem, epochs *meta.Mem) *Server {
	t.Helper()
	epochs.Crash() // what was closed can be used again
	return started(t, memConfig(), Options{FS: fs, Meta: epochs})
}

const testVersion = "0.1.0-abcdef, built on 11/21/2026 14:00 UTC"

func dialWire(t testing.TB, s *Server, o wire.Options) *wire.Conn {
	t.Helper()
	if o.TimeoutMs == 0 {
		o.TimeoutMs = 60_000
	}
	return wire.Open(t, s.Addr().String(), o)
}

// serveOne runs a server with its data in memory, and a client of it.
func serveOne(t testing.TB, cfg *config.Config) (*Server, *wire.Conn) {
	t.Helper()
	s := serveMem(t, cfg, nil)
	return s, dialWire(t, s, wire.Options{})
}

// dialRaw opens a socket without a client library.
func dialRaw(t testing.TB, s *Server) *net.TCPConn {
	t.Helper()
	return must.Dial(t, s.Addr().String()).(*net.TCPConn)
}

// hello performs the handshake on a raw socket.
func hello(t testing.TB, nc net.Conn, o wire.Options) {
	t.Helper()
	req := wire.ConnectRequest(o)
	require.NoError(t, wire.WriteFrame(nc, req.AppendTo(nil)))
	must.Do(wire.ReadFrame(nc))(t)
}

// frame is a request as it goes over the wire.
func frame(b []byte, xid int32, req wire.Request) []byte {
	payload := binary.BigEndian.AppendUint32(nil, uint32(xid))
	payload = binary.BigEndian.AppendUint32(payload, uint32(req.Op))
	return wire.AppendFrame(b, append(payload, req.Body...))
}

// hangGuard is how long a test waits for an event that must happen. It is far longer than needed on a busy machine,
// and shorter than the timeouts of sessions, because some events must happen before a session expires.
const hangGuard = 30 * time.Second

// eventually waits for a fact that another goroutine makes true.
func eventually(t testing.TB, fact func() bool, msg string) {
	t.Helper()
	require.Eventually(t, fact, hangGuard, time.Millisecond, msg)
}

// memberConfig is the configuration of server 1 of 3, on a filesystem in memory.
func memberConfig() *config.Config {
	cfg := memConfig()
	cfg.ServerID = 1
	cfg.Quorum.ServerID = 1
	cfg.Quorum.InitLimit, cfg.Quorum.SyncLimit = 5, 5
	for id := int64(1); id <= 3; id++ {
		cfg.Quorum.Members = append(cfg.Quorum.Members, config.Member{ID: id, Weight: 1,
			Addresses: []config.PeerAddress{{Host: "127.0.0.1", QuorumPort: 1, ElectionPort: 1}}})
	}
	return cfg
}
