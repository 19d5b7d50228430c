package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/wire"
)

func TestSharesOfARateFollowEachOther(t *testing.T) {
	const second = int64(time.Second)
	var r requestRate
	now := 100 * second
	n, due := r.reserve(now, 1000)
	require.Equal(t, 10, n)
	require.Equal(t, now-int64(rateBurst), due, "what was not used is there")
	for range 10 {
		_, due = r.reserve(now, 1000)
	}
	require.Equal(t, now, due)
	_, due = r.reserve(now, 1000)
	require.Equal(t, now+second/100, due, "ten requests take a hundredth of a second")
	n, _ = r.reserve(now, 3)
	require.Equal(t, 1, n, "a low rate has shares of one")
}

// Two connections of one address get together what it may have, and lose no request.
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
