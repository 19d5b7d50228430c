package clientbench

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	rounds  = flag.Int("client.rounds", 7, "turns of every client in every row of Compare")
	turn    = flag.Duration("client.turn", 300*time.Millisecond, "length of a turn")
	watches = flag.Int("client.watches", 100_000, "watches whose memory is measured")
)

const benchPath = "/clientbench"

// row is one load.
type row struct {
	op          string
	outstanding int
}

var rows = []row{{"get", 1}, {"get", 16}, {"get", 1000}, {"set", 1}, {"set", 16}, {"set", 1000}}

// figures are what one turn has shown, or the medians of many.
type figures struct {
	perSecond   float64
	allocs      float64 // an operation
	bytes       float64 // an operation
	median, p99 time.Duration
}

// BenchmarkCompare prints operations a second, latency, allocations and memory of the clients.
func BenchmarkCompare(b *testing.B) {
	if b.N > 1 {
		return // the table is printed once, whatever the time that it took
	}
	addr := startServer(b)
	data := make([]byte, 128)
	makeNode(b, addr, benchPath, data)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nload\toutstanding\tclient\top/s\tratio\tmedian\tp99\tallocs/op\tB/op\t")
	for _, r := range rows {
		all := compare(b, addr, r, *rounds, *turn)
		for i, f := range all {
			fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%.2f\t%v\t%v\t%.1f\t%.0f\t\n", r.op, r.outstanding, nameOf(i), f.perSecond,
				f.perSecond/all[0].perSecond, f.median.Round(time.Microsecond), f.p99.Round(time.Microsecond), f.allocs, f.bytes)
		}
	}
	require.NoError(b, table.Flush())
	fmt.Printf("\nmemory of a client with %d watches, its buffers included\n", *watches)
	for i, connect := range connectors {
		fmt.Printf("%14s  %.0f bytes a watch\n", nameOf(i), watchBytes(b, addr, connect, *watches))
	}
}

func nameOf(i int) string { return [...]string{"go-zookeeper", "client/zk", "client"}[i] }

// compare lets the clients take turns at one load.
func compare(t testing.TB, addr string, r row, rounds int, turn time.Duration) []figures {
	t.Helper()
	clients := make([]contender, len(connectors))
	for i, connect := range connectors {
		clients[i] = connect(t, addr)
		require.Equal(t, nameOf(i), clients[i].name)
	}
	seen := make([][]figures, len(clients))
	for round := range rounds {
		for k := range clients {
			i := (k + round) % len(clients) // nobody is always first
			seen[i] = append(seen[i], measure(t, clients[i], r, turn))
		}
	}
	medians := make([]figures, len(clients))
	for i := range clients {
		clients[i].close()
		medians[i] = figures{
			perSecond: medianOf(seen[i], func(f figures) float64 { return f.perSecond }),
			allocs:    medianOf(seen[i], func(f figures) float64 { return f.allocs }),
			bytes:     medianOf(seen[i], func(f figures) float64 { return f.bytes }),
			median:    medianOf(seen[i], func(f figures) time.Duration { return f.median }),
			p99:       medianOf(seen[i], func(f figures) time.Duration { return f.p99 }),
		}
	}
	return medians
}

func medianOf[T cmp.Ordered](all []figures, of func(figures) T) T {
	var values []T
	for _, f := range all {
		values = append(values, of(f))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measure runs one turn: as many goroutines as there may be requests outstanding, each with one at a time.
func measure(t testing.TB, c contender, r row, turn time.Duration) figures {
	data := make([]byte, 128)
	run := func() error { return c.get(benchPath) }
	if r.op == "set" {
		run = func() error { return c.set(benchPath, data) }
	}
	const samplesMax = 4096 // of a goroutine; later ones are not kept
	samples := make([][]time.Duration, r.outstanding)
	perGoroutine := max(samplesMax/r.outstanding, 16)
	for i := range samples {
		samples[i] = make([]time.Duration, 0, perGoroutine)
	}
	var over atomic.Bool
	var count atomic.Int64
	var failed atomic.Pointer[error]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	var all sync.WaitGroup
	for i := range r.outstanding {
		all.Go(func() {
			n := int64(0)
			for !over.Load() {
				at := time.Now()
				if err := run(); err != nil {
					cause := err // err itself stays off the heap
					failed.Store(&cause)
					return
				}
				if n++; len(samples[i]) < perGoroutine {
					samples[i] = append(samples[i], time.Since(at))
				}
			}
			count.Add(n)
		})
	}
	time.AfterFunc(turn, func() { over.Store(true) })
	all.Wait()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if err := failed.Load(); err != nil {
		t.Fatalf("%s %s: %v", c.name, r.op, *err)
	}
	latencies := slices.Concat(samples...)
	slices.Sort(latencies)
	n := float64(count.Load())
	f := figures{perSecond: n / took.Seconds(), allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.TotalAlloc-before.TotalAlloc) / n}
	if len(latencies) > 0 {
		f.median, f.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	}
	return f
}

// watchBytes returns by how much a client with n watches makes the heap and the stacks grow, divided by n. Their paths are not counted.
func watchBytes(t testing.TB, addr string, connect func(testing.TB, string) contender, n int) float64 {
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

// Every row can be measured. The figures are for BenchmarkCompare: a machine that others use proves nothing.
func TestEveryRowIsMeasured(t *testing.T) {
	addr := startServer(t)
	makeNode(t, addr, benchPath, make([]byte, 128))
	for _, r := range rows {
		t.Run(fmt.Sprint(r.op, r.outstanding), func(t *testing.T) {
			for i, f := range compare(t, addr, r, 1, 30*time.Millisecond) {
				require.Positive(t, f.perSecond, nameOf(i))
				require.Positive(t, f.median, nameOf(i))
				require.GreaterOrEqual(t, f.p99, f.median, nameOf(i))
			}
		})
	}
	for i, connect := range connectors {
		require.Less(t, watchBytes(t, addr, connect, 2000), 20_000.0, nameOf(i))
	}
}
