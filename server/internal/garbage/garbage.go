// Package garbage tunes Go's garbage collector for a process that holds a large tree.
//
// The tree is a few large blocks without pointers: marking them costs nothing. By default the collector would
// still wait until the garbage is as large as the live data, and the process would take twice the memory of its
// data. So the larger the tree, the smaller the percentage: a collection begins after Allowance bytes of garbage,
// whatever the tree's size.
//
// A small heap fills with garbage soon. With a few megabytes of live data and large requests or replies it would
// be collected a hundred times a second, and every goroutine waits whenever a collection begins and ends. So
// while collections are frequent, they begin after more garbage, up to the same Allowance.
//
// When much of the data goes at once, as the watches of clients that leave, nothing may grow for long, and the
// collector would not run for two minutes. Then Tune lets it run.
//
// The setting applies to the whole process. Tune runs in one goroutine; the package keeps no state between two
// calls.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"
	"time"
)

const (
	// allowance is after how many bytes of garbage a collection begins.
	allowance = 48 << 20
	// perZnode is the memory of a znode besides its path and data, in bytes, by the benchmark of datatree.
	perZnode = 130
	// PercentDefault is Go's default, the largest percentage while collections are rare.
	PercentDefault = 100
	// percentLeast bounds how often a very large heap is collected.
	percentLeast = 4
	// percentBusy is the largest percentage while there are frequent collections a second.
	percentBusy = 1000
	frequent    = 8
)

// Tune keeps the collector at Allowance until stop is closed, and then restores its default. tree returns how many
// znodes there are, and the bytes of their paths and data, and of watches. GOGC in the environment switches Tune off.
func Tune(stop <-chan struct{}, tree func() (znodes int, bytes int64)) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	now := PercentDefault
	defer func() { debug.SetGCPercent(PercentDefault) }()
	heap := []rt.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	cycles, busy, gone := uint64(0), false, releases{}
	for {
		znodes, bytes := tree()
		rt.Read(heap)
		ran, live := heap[0].Value.Uint64()-cycles, int64(heap[1].Value.Uint64())
		cycles += ran
		if gone.much(bytes, ran > 0) {
			runtime.GC()
		}
		// A larger allowance makes collections rarer by the same factor.
		busy = ran >= frequent || busy && int(ran)*now >= frequent*PercentDefault
		want := percent(int64(znodes)*perZnode + bytes)
		if busy {
			want = percentWhileBusy(want, live)
		}
		// A change stops all goroutines for a moment, so small ones are not worth it.
		if want*4 < now*3 || want*3 > now*4 {
			debug.SetGCPercent(want)
			now = want
		}
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
	}
}

// releases notes what has gone since the last collection.
type releases struct{ last, gone int64 }

// much reports whether so much has gone that a collection is worth it. There are bytes now, and collected says whether
// a collection has begun since the last call.
func (r *releases) much(bytes int64, collected bool) bool {
	if collected {
		r.gone = 0 // what has gone since the last call counts: it may have come too late for that collection
	}
	r.gone += max(0, r.last-bytes)
	r.last = bytes
	if r.gone < allowance {
		return false
	}
	r.gone = 0
	return true
}

// percentWhileBusy returns the garbage after which a collection begins while collections are frequent, in percent
// of the live data after the last one; at least percent.
func percentWhileBusy(percent int, live int64) int {
	return max(percent, int(min(100*allowance/max(live, 1), percentBusy)))
}

// percent returns the garbage after which a collection begins, in percent of a tree of so many bytes.
func percent(tree int64) int {
	return int(min(max(100*allowance/max(tree, 1), percentLeast), PercentDefault))
}
