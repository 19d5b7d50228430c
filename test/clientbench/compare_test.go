package clientbench

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/measured"
)

var (
	rounds = flag.Int("client.rounds", 7,
		"turns of every client in every row of Compare; twice as many with one request outstanding")
	only = flag.String("client.load", "",
		"the one load of Compare to measure: get, set, create-delete, children or multi")
	counts = flag.String("client.outstanding", "1,16,1000", "numbers of requests outstanding, at most 1000")
	turn   = flag.Duration("client.turn", 300*time.Millisecond, "length of a turn")
	record = flag.String("client.record", "", "folder of the documents that get the figures of the benchmarks")
)

// row is one load.
type row struct {
	load        string
	outstanding int
}

func allRows(t testing.TB) (rows []row) {
	for _, load := range []string{"get", "set", "create-delete", "children", "multi"} {
		if *only != "" && *only != load {
			continue
		}
		for _, n := range numbers(t, *counts) {
			require.LessOrEqual(t, n, slotsMax)
			rows = append(rows, row{load, n})
		}
	}
	return rows
}

// figures are what one turn has shown, or the medians of many.
type figures struct {
	perSecond   float64
	ratio       float64       // of perSecond to the first client's in the same round
	cpu         time.Duration // of this process, an operation
	switches    float64       // an operation: how often a thread of this process went to sleep
	allocs      float64       // an operation
	bytes       float64       // an operation
	median, p99 time.Duration
}

// BenchmarkCompare measures operations a second, latency, CPU time, allocations and memory of the clients.
func BenchmarkCompare(b *testing.B) {
	if b.N > 1 {
		return // the tables are made once, whatever the time that it took
	}
	run := measured.Begin(b, "clients", "make benchmarks")
	addr := startServers(b, 1)
	makeNodes(b, addr)
	speed := measured.Table{Head: []string{measured.Clients, "go-zookeeper, op/s", "client, op/s",
		"ratio", "ratio of async", "ratio of client/zk", "go-zookeeper, p50 and p99, ms", "client, p50 and p99, ms",
		"go-zookeeper, CPU us/op", "client, CPU us/op"}}
	garbage := measured.Table{Head: []string{measured.Garbage, nameOf(0), nameOf(1), nameOf(2), nameOf(3)}}
	for _, r := range allRows(b) {
		turns := *rounds
		if r.outstanding == 1 {
			turns *= 2 // figures of single requests scatter the most
		}
		all := compare(b, addr, r, turns, *turn)
		zk, own := all[0], all[2]
		speed.Rows = append(speed.Rows, []string{fmt.Sprintf("%s, %d", r.load, r.outstanding),
			measured.Grouped(zk.perSecond), measured.Grouped(own.perSecond), fmt.Sprintf("%.2f", own.ratio),
			fmt.Sprintf("%.2f", all[3].ratio), fmt.Sprintf("%.2f", all[1].ratio), zk.latencies(), own.latencies(),
			fmt.Sprintf("%.1f", float64(zk.cpu)/1e3), fmt.Sprintf("%.1f", float64(own.cpu)/1e3)})
		if r.outstanding > 1 {
			continue
		}
		cells := []string{r.load}
		for _, f := range all {
			cells = append(cells, fmt.Sprintf("%.0f, %.0f", f.allocs, f.bytes))
		}
		garbage.Rows = append(garbage.Rows, cells)
	}
	run.Keep(*record, speed, garbage)
}

// latencies are the median and the 99th percentile in ms.
func (f figures) latencies() string {
	return fmt.Sprintf("%.2f, %.2f", float64(f.median.Microseconds())/1e3, float64(f.p99.Microseconds())/1e3)
}

func nameOf(i int) string {
	return [...]string{"go-zookeeper", "client/zk", "client", "client, async"}[i]
}

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
			i := (k + round) % len(clients) // no client is always first
			seen[i] = append(seen[i], measure(t, &clients[i], r, turn))
		}
		for i := range clients {
			seen[i][round].ratio = seen[i][round].perSecond / seen[0][round].perSecond
		}
	}
	medians := make([]figures, len(clients))
	for i := range clients {
		clients[i].close()
		medians[i] = figures{
			perSecond: medianOf(seen[i], func(f figures) float64 { return f.perSecond }),
			ratio:     medianOf(seen[i], func(f figures) float64 { return f.ratio }),
			cpu:       medianOf(seen[i], func(f figures) time.Duration { return f.cpu }),
			switches:  medianOf(seen[i], func(f figures) float64 { return f.switches }),
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

// measure runs one turn, after a sixth of a turn that fills the pools which the collection of garbage has emptied.
func measure(t testing.TB, c *contender, r row, turn time.Duration) figures {
	runtime.GC()
	drive := c.drive(r.load)
	run(t, c.name, drive, newRecording(r.outstanding), turn/6)
	rec := newRecording(r.outstanding)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	cpuBefore, switchesBefore := usage(t)
	run(t, c.name, drive, rec, turn)
	took := time.Since(began)
	cpu, switches := usage(t)
	cpu, switches = cpu-cpuBefore, switches-switchesBefore
	runtime.ReadMemStats(&after)
	latencies := slices.Concat(rec.slots...)
	slices.Sort(latencies)
	n := rec.count.Load()
	require.NotZero(t, n)
	return figures{
		perSecond: float64(n) / took.Seconds(),
		cpu:       cpu / time.Duration(n),
		switches:  float64(switches) / float64(n),
		allocs:    float64(after.Mallocs-before.Mallocs) / float64(n),
		bytes:     float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		median:    latencies[len(latencies)/2],
		p99:       latencies[len(latencies)*99/100],
	}
}

func run(t testing.TB, name string, drive drive, r *recording, turn time.Duration) {
	t.Helper()
	end := time.AfterFunc(turn, func() { r.over.Store(true) })
	defer end.Stop()
	drive(len(r.slots), r)
	if err := r.failed.Load(); err != nil {
		t.Fatalf("%s: %v", name, *err)
	}
}

// usage is what this process has used so far: time in user and in kernel mode, and how often a thread of it gave up
// its processor.
func usage(t testing.TB) (cpu time.Duration, switches int64) {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw
}

// Every row can be measured. The figures are for BenchmarkCompare: a machine that others use proves nothing.
func TestEveryRowIsMeasured(t *testing.T) {
	addr := startServers(t, 1)
	makeNodes(t, addr)
	for _, r := range allRows(t) {
		t.Run(fmt.Sprint(r.load, r.outstanding), func(t *testing.T) {
			for i, f := range compare(t, addr, r, 1, 30*time.Millisecond) {
				require.Positive(t, f.perSecond, nameOf(i))
				require.Positive(t, f.median, nameOf(i))
				require.GreaterOrEqual(t, f.p99, f.median, nameOf(i))
			}
		})
	}
}
