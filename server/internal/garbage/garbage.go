// Package garbage tunes Go's garbage collector for a process that holds a large tree.
//
// The tree is a few large blocks without pointers: marking them costs nothing. By default the collector would still
// wait until as much garbage again has gathered, and the process would take twice the memory of its data. So the
// larger the tree, the smaller the share of garbage that is waited for: Allowance bytes of it, whatever the tree's
// size.
//
// A small heap fills with garbage soon. With a few megabytes of live data and large requests or replies it would be
// collected a hundred times a second, and every goroutine waits whenever a collection begins and ends. So while
// collections are frequent, more garbage is waited for, up to the same allowance.
//
// The setting is the whole process's. Tune runs in one goroutine; the package keeps nothing between two calls.
package garbage

import (
	"os"
	"runtime/debug"
	rt "runtime/metrics"
	"time"
)

const (
	// Allowance is how many bytes of garbage are waited for.
	Allowance = 48 << 20
	// perZnode is what a znode takes besides its path and data, in bytes, by the benchmark of datatree.
	perZnode = 130
	// PercentDefault is Go's default, which is the most while collections are rare.
	PercentDefault = 100
	// percentLeast bounds how often a very large heap is collected.
	percentLeast = 4
	// percentBusy is the most while there are frequent collections a second.
	percentBusy = 1000
	frequent    = 8
)

// Tune keeps the collector at Allowance until stop is closed, and then puts back its default. tree returns how many
// znodes there are, and the bytes of their paths and data. GOGC in the environment switches Tune off.
func Tune(stop <-chan struct{}, tree func() (znodes int, bytes int64)) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	now := PercentDefault
	defer func() { debug.SetGCPercent(PercentDefault) }()
	heap := []rt.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	cycles, busy := uint64(0), false
	for {
		znodes, bytes := tree()
		rt.Read(heap)
		ran, live := heap[0].Value.Uint64()-cycles, int64(heap[1].Value.Uint64())
		cycles += ran
		// Once there is more garbage to wait for, collections are as many times rarer.
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

// percentWhileBusy is the garbage to wait for while collections are frequent, in percent of what was live after the
// last one; at least percent.
func percentWhileBusy(percent int, live int64) int {
	return max(percent, int(min(100*Allowance/max(live, 1), percentBusy)))
}

// percent is the garbage to wait for, in percent of a tree of so many bytes.
func percent(tree int64) int {
	return int(min(max(100*Allowance/max(tree, 1), percentLeast), PercentDefault))
}
