package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed94657493/warren/client/internal/require"
)

// Get and Set with 1, 16 and 1000 goroutines on one connection. The stub answers the same bytes to every request, so
// that it measures the client alone. test/clientbench compares the client with others.
//
//	WARREN_TEST_SERVERS=host:port go test -run xxx -bench Clients -benchmem ./client
func BenchmarkClientsOnEachServer(b *testing.B) {
	for _, server := range append([]string{"stub"}, servers(b)...) {
		addr := server
		if server == "stub" {
			addr = newStub(b)
		}
		for _, op := range []string{"get", "set"} {
			for _, outstanding := range []int{1, 16, 1000} {
				name := fmt.Sprintf("%s/%s/%d", server, op, outstanding)
				b.Run(name, func(b *testing.B) { benchClient(b, addr, op, outstanding) })
			}
		}
	}
}

const benchPath = "/client-bench"

// together runs f b.N times in all from n goroutines.
func together(b *testing.B, n int, f func() error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range n {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func benchClient(b *testing.B, addr, op string, outstanding int) {
	ctx := context.Background()
	c, err := Dial(ctx, addr)
	require.NoError(b, err)
	defer c.Close()
	data := make([]byte, 128)
	require.NoError(b, c.CreateAll(ctx, benchPath))
	_, err = c.Set(ctx, benchPath, data, AnyVersion)
	require.NoError(b, err)
	if op == "get" {
		together(b, outstanding, func() error { _, _, err := c.Get(ctx, benchPath); return err })
	} else {
		together(b, outstanding, func() error { _, err := c.Set(ctx, benchPath, data, AnyVersion); return err })
	}
}

// One goroutine with a window of 1000 futures.
func BenchmarkAsync(b *testing.B) {
	ctx := context.Background()
	c, err := Dial(ctx, newStub(b))
	require.NoError(b, err)
	defer c.Close()
	b.ReportAllocs()
	window := make([]Future[NodeData], 1000)
	for i := range window {
		window[i] = c.Async().Get(ctx, benchPath)
	}
	i := 0
	for b.Loop() {
		f := &window[i%len(window)]
		if _, err := f.Wait(ctx); err != nil {
			b.Fatal(err)
		}
		*f = c.Async().Get(ctx, benchPath)
		i++
	}
	for _, f := range window {
		_, _ = f.Wait(ctx)
	}
}

// The allocations of operations, without those of the stub.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		return // the detector allocates
	}
	ctx := t.Context()
	c := dial(t, newStub(t))
	data := make([]byte, 128)
	for _, c := range []struct {
		name string
		most float64
		f    func() error
	}{
		{"get", 1, func() error { _, _, err := c.Get(ctx, benchPath); return err }}, // the data
		{"set", 0, func() error { _, err := c.Set(ctx, benchPath, data, AnyVersion); return err }},
		{"exists", 0, func() error { _, _, err := c.Exists(ctx, benchPath); return err }},
		{"create", 0, func() error { _, err := c.Create(ctx, benchPath, data, Persistent); return err }},
		{"delete", 0, func() error { return c.Delete(ctx, benchPath, AnyVersion) }},
		// The names, their bytes twice.
		{"children", 3, func() error { _, _, err := c.Children(ctx, benchPath); return err }},
		{"multi", 4, func() error { // operations, request, reply, results
			var txn Txn
			_, err := c.Commit(ctx, txn.Set(benchPath, data, 0).Set(benchPath, data, 0).Set(benchPath, data, 0))
			return err
		}},
		{"async get", 3, func() error { // future, its channel, the data
			_, err := c.Async().Get(ctx, benchPath).Wait(ctx)
			return err
		}},
		{"async set", 2, func() error { // future, its channel
			_, err := c.Async().Set(ctx, benchPath, data, AnyVersion).Wait(ctx)
			return err
		}},
	} {
		require.NoError(t, c.f())
		got := testing.AllocsPerRun(200, func() { _ = c.f() })
		require.LessOrEqual(t, got, c.most, c.name)
	}
}
