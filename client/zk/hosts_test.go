package zk

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFormatServers(t *testing.T) {
	require.Equal(t, []string{"a:2181", "b:1", "10.0.0.1:2181", "[::1]:2181", "[::1]:3", "a:b:c"},
		FormatServers([]string{"a", "b:1", "10.0.0.1", "::1", "[::1]:3", "a:b:c"}))
}

// Names are looked up when a walk begins, and never twice within one.
func TestNamesAreLookedUpAgain(t *testing.T) {
	addrs := []string{"10.0.0.1", "10.0.0.2"}
	var failing error
	lookups := 0
	hp := NewDNSHostProvider(WithLookupTimeout(time.Second))
	hp.lookup = func(ctx context.Context, host string) ([]string, error) {
		_, isBounded := ctx.Deadline()
		require.True(t, isBounded)
		require.Equal(t, "zk.example", host)
		lookups++
		return addrs, failing
	}
	walk := func(n int) (seen []string, again []bool) {
		for range n {
			addr, isAgain := hp.Next()
			seen, again = append(seen, addr), append(again, isAgain)
		}
		slices.Sort(seen)
		return seen, again
	}
	require.NoError(t, hp.Init([]string{"zk.example:1", "10.0.0.3:2"}))
	require.Equal(t, 3, hp.Len())
	old := []string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:2"}
	seen, again := walk(3)
	require.Equal(t, old, seen)
	require.Equal(t, []bool{false, false, false}, again)
	require.Equal(t, 1, lookups)

	failing = errors.New("no answer") // the old addresses are better than none
	seen, again = walk(3)
	require.Equal(t, old, seen)
	require.Equal(t, []bool{true, false, false}, again)
	require.Equal(t, 2, lookups)

	failing, addrs = nil, []string{"10.0.0.9"} // the servers have moved
	hp.Connected()
	seen, again = walk(3)
	require.Contains(t, seen, "10.0.0.9:1")
	require.NotContains(t, seen, "10.0.0.1:1")
	require.Equal(t, []bool{false, false, true}, again)
	require.Equal(t, 4, lookups)
	require.Equal(t, 2, hp.Len())

	addrs = nil
	require.NoError(t, hp.Init([]string{"10.0.0.3:2"}))
	require.Error(t, hp.Init([]string{"zk.example:1"}))
}

// After a loss all addresses have their turn before the walk begins again, the one that was lost as the last.
func TestWalkBeginsAnewAfterConnected(t *testing.T) {
	hp := NewDNSHostProvider()
	require.NoError(t, hp.Init([]string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"}))
	_, _ = hp.Next()
	lost, _ := hp.Next()
	hp.Connected()
	for i := range 3 {
		addr, again := hp.Next()
		require.False(t, again)
		require.Equal(t, i == 2, addr == lost)
	}
	_, again := hp.Next()
	require.True(t, again)
}
