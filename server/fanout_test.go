package server

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/wire"
)

// sink is a connection without a socket that counts what is written to it: a process may not have
// 100,000 sockets everywhere.
type sink struct{ writes *atomic.Int64 }

func (s sink) Write(b []byte) (int, error)      { s.writes.Add(1); return len(b), nil }
func (sink) Read([]byte) (int, error)           { return 0, io.EOF }
func (sink) Close() error                       { return nil }
func (sink) LocalAddr() net.Addr                { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (sink) RemoteAddr() net.Addr               { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (sink) SetDeadline(time.Time) error        { return nil }
func (sink) SetReadDeadline(t time.Time) error  { return nil }
func (sink) SetWriteDeadline(t time.Time) error { return nil }

// BenchmarkFanOut fires the watches of 100,000 connections on one znode by one write. It measures the time from the
// write to the last event that is handed to its connection, and to the reply of the write.
func BenchmarkFanOut(b *testing.B) {
	const watchers = 100_000
	cfg := config.Default()
	cfg.DataDir = b.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.MaxClientCnxns = cfg.DataDir, 0, 0
	s := New(cfg, Options{})
	require.NoError(b, s.Start())
	defer s.Stop()
	c, err := wire.Dial(s.Addr().String(), wire.Options{TimeoutMs: 40_000})
	require.NoError(b, err)
	defer c.Close()
	_, err = c.Create("/hot", nil, proto.ModePersistent)
	require.NoError(b, err)

	var events atomic.Int64
	conns := make([]*serve.Conn, watchers)
	for i := range conns {
		conns[i] = serve.NewConn(s.front, sink{&events})
	}
	var last, reply time.Duration
	for b.Loop() {
		b.StopTimer()
		s.Store.Mu.RLock()
		for _, w := range conns {
			s.front.Watchers.Watch(w, watch.Data, []byte("/hot"))
		}
		s.Store.Mu.RUnlock()
		events.Store(0)
		b.StartTimer()
		began := time.Now()
		_, err := c.SetData("/hot", nil, -1)
		reply += time.Since(began)
		require.NoError(b, err)
		for events.Load() < watchers {
			time.Sleep(100 * time.Microsecond)
		}
		last += time.Since(began)
	}
	b.ReportMetric(float64(last.Milliseconds())/float64(b.N), "last-event-ms")
	b.ReportMetric(float64(reply.Milliseconds())/float64(b.N), "reply-ms")
}
