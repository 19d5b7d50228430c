package server

import (
	"os"
	"runtime/debug"
	rt "runtime/metrics"
	"time"
)

// The tree is a few large blocks without pointers: to mark them costs the collector nothing, but
// by default they would make it wait until as much garbage again has gathered, and the process
// would take twice the memory of its data. So the larger the tree, the smaller the share of
// garbage that is waited for: garbageAllowance bytes of it, whatever the tree's size.
//
// A small heap, on the other hand, is full of garbage soon: with a few megabytes and large requests or replies it would be
// collected a hundred times a second, and everybody waits whenever a collection begins and ends. So while collections are
// frequent, more garbage is waited for, up to the same allowance.

const (
	garbageAllowance = 48 << 20
	// perZnode is what a znode takes besides its path and data, in bytes, by the benchmark of datatree.
	perZnode = 130
	// gcPercentMost is Go's default, gcPercentLeast bounds how often a very large heap is collected.
	gcPercentMost, gcPercentLeast = 100, 4
	// gcPercentBusy is the most while there are gcFrequent collections a second.
	gcPercentBusy = 1000
	gcFrequent    = 8
)

// tuneCollector keeps Go's garbage collector at garbageAllowance until the server stops, and then
// puts its old setting back. GOGC in the environment switches it off. It concerns the whole
// process: see Options.WholeProcess.
func (s *Server) tuneCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	now := gcPercentMost
	defer func() { debug.SetGCPercent(gcPercentMost) }()
	heap := []rt.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	cycles, busy := uint64(0), false
	for {
		s.store.mu.RLock()
		tree := int64(s.store.state.NumNodes())*perZnode + s.store.state.DataSize()
		s.store.mu.RUnlock()
		rt.Read(heap)
		ran, live := heap[0].Value.Uint64()-cycles, int64(heap[1].Value.Uint64())
		cycles += ran
		// Once there is more garbage to wait for, collections are as many times rarer.
		busy = ran >= gcFrequent || busy && int(ran)*now >= gcFrequent*gcPercentMost
		want := gcPercent(tree)
		if busy {
			want = gcPercentWhileBusy(want, live)
		}
		// A change stops the world for a moment: only real ones are worth it.
		if want*4 < now*3 || want*3 > now*4 {
			debug.SetGCPercent(want)
			now = want
		}
		select {
		case <-s.stopping:
			return
		case <-ticker.C:
		}
	}
}

// gcPercentWhileBusy is how much more than percent of garbage is waited for while collections are frequent, in percent of what was live
// after the last.
func gcPercentWhileBusy(percent int, live int64) int {
	return max(percent, int(min(100*garbageAllowance/max(live, 1), gcPercentBusy)))
}

// gcPercent is the garbage to wait for, in percent of a tree of so many bytes.
func gcPercent(tree int64) int {
	return int(min(max(100*garbageAllowance/max(tree, 1), gcPercentLeast), gcPercentMost))
}
