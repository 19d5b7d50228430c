package clientbench

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/measured"
)

var (
	watches  = flag.Int("client.watches", 100_000, "watches whose memory is measured")
	profiles = flag.String("client.heap", "", "prefix of files for heap profiles of the clients with their watches")
)

// What is kept for a watch by each of the connectors.
var watchNames = [...]string{"go-zookeeper, its channel", "client/zk, its channel", "client, its channel",
	"client, no channel asked for"}

// BenchmarkWatchMemory reports what a watch costs a client that has very many.
func BenchmarkWatchMemory(b *testing.B) {
	run := measured.Begin(b, "memory of watches", "make benchmarks")
	table := measured.Table{Head: []string{measured.Watches, "bytes"}}
	addr := startServers(b, 1)
	for i, connect := range connectors {
		least := 0.0
		b.Run(watchNames[i], func(b *testing.B) {
			for b.Loop() {
				bytes := watchBytes(b, addr, connect, *watches, profileOf(i))
				if least == 0 || bytes < least {
					least = bytes
				}
			}
			b.ReportMetric(least, "B/watch")
			b.ReportMetric(0, "ns/op")
		})
		table.Rows = append(table.Rows, []string{watchNames[i], fmt.Sprintf("%.0f", least)})
	}
	run.Keep(*record, table)
}

func profileOf(i int) string {
	if *profiles == "" {
		return ""
	}
	return fmt.Sprintf("%s-%d.pprof", *profiles, i)
}

// watchBytes returns by how much a client with n watches makes the heap and the stacks grow, divided by n. Its
// buffers are counted, the paths are not.
func watchBytes(t testing.TB, addr string, connect func(testing.TB, string) contender, n int, profile string) float64 {
	t.Helper()
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s/watched-%06d", benchPath, i)
	}
	kept := make([]any, n)
	before := inUse()
	c := connect(t, addr)
	defer c.close()
	var next atomic.Int64
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for range 64 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				w, err := c.watch(paths[i])
				if err != nil {
					failed.Store(&err)
					return
				}
				kept[i] = w
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		t.Fatalf("%s: %v", c.name, *err)
	}
	grown := float64(inUse()) - float64(before)
	if profile != "" {
		f, err := os.Create(profile)
		require.NoError(t, err)
		require.NoError(t, pprof.Lookup("heap").WriteTo(f, 0))
		require.NoError(t, f.Close())
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(paths)
	return grown / float64(n)
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers have freed
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// A watch costs a record, and a channel only if that is asked for. What remains above is the share of the client's
// buffers.
func TestWatchesAreSmall(t *testing.T) {
	addr := startServers(t, 1)
	const n = 20_000
	// what else the process has taken meanwhile can only add
	least := func(dial func(testing.TB, string) contender) float64 {
		return min(watchBytes(t, addr, dial, n, ""), watchBytes(t, addr, dial, n, ""),
			watchBytes(t, addr, dial, n, ""))
	}
	require.Less(t, least(dialOurs), 290.0)
	require.Less(t, least(dialAsync), 130.0)
}
