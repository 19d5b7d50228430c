package zk

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestFormatServers(t *testing.T) {
	same(t, []string{"a:2181", "b:1", "10.0.0.1:2181", "[::1]:2181", "[::1]:2181", "[::1]:3", "[fe80::1%eth0]:2181",
		"a:b:c"}, FormatServers([]string{"a", "b:1", "10.0.0.1", "::1", "[::1]", "[::1]:3", "fe80::1%eth0", "a:b:c"}))
}

// Names are looked up when a walk begins, and never twice within one.
func TestNamesAreLookedUpAgain(t *testing.T) {
	addrs := []string{"10.0.0.1", "10.0.0.2"}
	var failing error
	lookups := 0
	hp := NewDNSHostProvider(WithLookupTimeout(time.Second))
	hp.lookup = func(ctx context.Context, host string) ([]string, error) {
		_, isBounded := ctx.Deadline()
		same(t, true, isBounded)
		same(t, "zk.example", host)
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
	works(t, hp.Init([]string{"zk.example:1", "10.0.0.3:2"}))
	same(t, 3, hp.Len())
	old := []string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:2"}
	seen, again := walk(3)
	same(t, old, seen)
	same(t, []bool{false, false, false}, again)
	same(t, 1, lookups)

	failing = errors.New("no answer") // the old addresses are better than none
	seen, again = walk(3)
	same(t, old, seen)
	same(t, []bool{true, false, false}, again)
	same(t, 2, lookups)

	failing, addrs = nil, []string{"10.0.0.9"} // the servers have moved
	hp.Connected()
	seen, again = walk(3)
	same(t, true, slices.Contains(seen, "10.0.0.9:1"), seen)
	same(t, false, slices.Contains(seen, "10.0.0.1:1"), seen)
	same(t, []bool{false, false, true}, again)
	same(t, 4, lookups)
	same(t, 2, hp.Len())

	addrs = nil
	works(t, hp.Init([]string{"10.0.0.3:2"}))
	fails(t, hp.Init([]string{"zk.example:1"}))
}

// A server whose name is gone, such as a pod that is not ready, does not keep the others from being found where they
// have moved to.
func TestOneNameThatFails(t *testing.T) {
	answers := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}
	hp := &DNSHostProvider{lookup: func(_ context.Context, host string) ([]string, error) {
		if answers[host] == "" {
			return nil, errors.New("no such host")
		}
		return []string{answers[host]}, nil
	}}
	works(t, hp.Init([]string{"a:1", "b:1"}))
	_, _ = hp.Next()
	hp.Connected()
	answers["a"], answers["b"] = "", "10.0.0.9"
	seen := []string{}
	for range 2 {
		addr, _ := hp.Next()
		seen = append(seen, addr)
	}
	slices.Sort(seen)
	same(t, []string{"10.0.0.1:1", "10.0.0.9:1"}, seen)
}

// After a loss all addresses have their turn before the walk begins again, the one that was lost as the last.
func TestWalkBeginsAnewAfterConnected(t *testing.T) {
	hp := NewDNSHostProvider()
	works(t, hp.Init([]string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"}))
	_, _ = hp.Next()
	lost, _ := hp.Next()
	hp.Connected()
	for i := range 3 {
		addr, again := hp.Next()
		same(t, false, again)
		same(t, i == 2, addr == lost)
	}
	_, again := hp.Next()
	same(t, true, again)
}

// The zero value is as good as NewDNSHostProvider.
func TestZeroDNSHostProvider(t *testing.T) {
	hp := &DNSHostProvider{lookup: func(ctx context.Context, _ string) ([]string, error) {
		return []string{"10.0.0.1"}, ctx.Err()
	}}
	works(t, hp.Init([]string{"zk.example:1"}))
	addr, again := hp.Next()
	same(t, "10.0.0.1:1", addr)
	same(t, false, again)
}

// Servers are given to the Dialer as Connect got them, each in its turn, even after one has accepted the session.
func TestSimpleDNSHostProvider(t *testing.T) {
	hp := &SimpleDNSHostProvider{}
	works(t, hp.Init([]string{"nowhere.invalid:1", "b.invalid:2"}))
	same(t, 2, hp.Len())
	for i, want := range []string{"nowhere.invalid:1", "b.invalid:2", "nowhere.invalid:1"} {
		server, again := hp.Next()
		same(t, want, server)
		same(t, i == 2, again)
	}
	hp.Connected()
	for i, want := range []string{"b.invalid:2", "nowhere.invalid:1", "b.invalid:2"} {
		server, again := hp.Next()
		same(t, want, server)
		same(t, i == 2, again)
	}
}

func TestStateIsConnected(t *testing.T) {
	for state := StateExpired; state <= StateHasSession; state++ {
		same(t, state == StateHasSession || state == StateConnectedReadOnly, state.IsConnected(), state)
	}
}
