package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/wire"
)

// Two connections from one address share the limit of that address, and lose no request.
func TestRequestsPerSecondOfAnAddress(t *testing.T) {
	cfg := memConfig()
	cfg.MaxRequestsPerSecond = 500
	s := serveMem(t, cfg, nil)
	began := time.Now()
	var calls []*wire.Call
	for range 2 {
		c := dialWire(t, s, wire.Options{})
		for range 200 {
			calls = append(calls, c.Send(wire.Exists("/", false)))
		}
	}
	for _, call := range calls {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err())
	}
	// 400 requests and two connects, of which the burst and the last share of each are free.
	require.Greater(t, time.Since(began), 600*time.Millisecond)
}

// A client that connects anew for each request is no faster.
func TestRequestsPerSecondOfAnAddressThatReconnects(t *testing.T) {
	cfg := memConfig()
	cfg.MaxRequestsPerSecond = 50
	s := serveMem(t, cfg, nil)
	began := time.Now()
	for range 40 {
		dialWire(t, s, wire.Options{}).Close()
		eventually(t, func() bool { return s.front.Conns.Len() == 0 }, "the connection has ended")
	}
	// 40 connects, of which the burst and the last share are free.
	require.Greater(t, time.Since(began), 600*time.Millisecond)
}

// Clients that have gone while they waited for a session hold up nobody.
func TestRequestsPerSecondOfAnAddressWhoseClientsHaveGone(t *testing.T) {
	cfg := memConfig()
	cfg.MaxRequestsPerSecond = 1
	s := serveMem(t, cfg, nil)
	began := time.Now()
	req := wire.ConnectRequest(wire.Options{})
	for range 20 {
		nc := dialRaw(t, s)
		require.NoError(t, wire.WriteFrame(nc, req.AppendTo(nil)))
		eventually(t, func() bool { return s.front.Conns.Len() > 0 }, "it is connected")
		require.NoError(t, nc.Close())
	}
	eventually(t, func() bool { return s.front.Conns.Len() == 0 }, "they are gone")
	dialWire(t, s, wire.Options{})
	require.Less(t, time.Since(began), 10*time.Second) // instead of 20
}
