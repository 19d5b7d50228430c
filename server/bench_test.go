package server_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/wire"
)

// BenchmarkPipelined measures one server in this process with 16 connections of 64 requests in flight. A profile of
// it is a profile of the server, because the client only copies bytes.
func BenchmarkPipelined(b *testing.B) {
	for name, req := range map[string]wire.Request{
		"get": wire.GetData("/n", false),
		"set": wire.SetData("/n", make([]byte, 128), -1),
	} {
		b.Run(name, func(b *testing.B) { benchmarkPipelined(b, req, 16, 64) })
	}
}

// BenchmarkSynchronous is one connection with one request in flight.
func BenchmarkSynchronous(b *testing.B) {
	b.Run("get", func(b *testing.B) { benchmarkPipelined(b, wire.GetData("/n", false), 1, 1) })
	b.Run("set", func(b *testing.B) { benchmarkPipelined(b, wire.SetData("/n", make([]byte, 128), -1), 1, 1) })
}

func benchmarkPipelined(b *testing.B, req wire.Request, conns, outstanding int) {
	cfg := benchConfig(b)
	s := server.New(cfg, server.Options{Log: zap.NewNop()})
	require.NoError(b, s.Start())
	defer s.Stop()
	addr := s.Addr().String()
	c := wire.Open(b, addr, wire.Options{})
	c.MustCreate(b, "/n", make([]byte, 128), proto.ModePersistent)
	c.Close()

	frame := binary.BigEndian.AppendUint32(nil, uint32(8+len(req.Body)))
	frame = binary.BigEndian.AppendUint32(frame, 1)
	frame = binary.BigEndian.AppendUint32(frame, uint32(req.Op))
	frame = append(frame, req.Body...)
	var burst []byte
	for range outstanding {
		burst = append(burst, frame...)
	}
	share := b.N/conns + 1
	done := make(chan error, conns)
	b.ReportAllocs()
	b.ResetTimer()
	for range conns {
		go func() { done <- pump(addr, burst, outstanding, share) }()
	}
	for range conns {
		require.NoError(b, <-done)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// pump sends bursts and reads as many replies, n times in all.
func pump(addr string, burst []byte, perBurst, n int) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	hello := wire.ConnectRequest(wire.Options{TimeoutMs: 60_000})
	if err := wire.WriteFrame(nc, hello.AppendTo(nil)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(nc, 64<<10)
	if _, err := wire.ReadFrame(in); err != nil {
		return err
	}
	var head [4]byte
	for n > 0 {
		if _, err := nc.Write(burst); err != nil {
			return err
		}
		for range perBurst {
			if _, err := io.ReadFull(in, head[:]); err != nil {
				return err
			}
			if _, err := in.Discard(int(binary.BigEndian.Uint32(head[:]))); err != nil {
				return err
			}
		}
		n -= perBurst
	}
	return nil
}

// BenchmarkStart measures the time from New to the first answer.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s := server.New(benchConfig(b), server.Options{Log: zap.NewNop()})
		require.NoError(b, s.Start())
		require.Equal(b, "imok", wire.MustFourLetter(b, s.Addr().String(), "ruok", time.Second))
		b.StopTimer()
		s.Stop()
		b.StartTimer()
	}
}

// benchConfig is the default configuration with a directory and a port of its own.
func benchConfig(b testing.TB) *config.Config {
	cfg := testConfig(b)
	cfg.PreAllocSizeKB = 65536
	cfg.TickTime = 2 * time.Second
	cfg.MinSessionTimeout = 4 * time.Second
	return cfg
}
