package server

import (
	"os"
	"runtime/debug"
	"time"
)

// The tree is a few large blocks without pointers: to mark them costs the collector nothing, but
// by default they would make it wait until as much garbage again has gathered, and the process
// would take twice the memory of its data. So the larger the tree, the smaller the share of
// garbage that is waited for: garbageAllowance bytes of it, whatever the tree's size.

const (
	garbageAllowance = 48 << 20
	// perZnode is what a znode takes besides its path and data, in bytes, by the benchmark of datatree.
	perZnode = 130
	// gcPercentMost is Go's default, gcPercentLeast bounds how often a very large heap is collected.
	gcPercentMost, gcPercentLeast = 100, 4
)

// tuneCollector keeps Go's garbage collector at garbageAllowance until the server stops, and then
// puts its old setting back. GOGC in the environment switches it off. It concerns the whole
// process, so only Run calls it, not Start.
func (s *Server) tuneCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	now := gcPercentMost
	defer func() { debug.SetGCPercent(gcPercentMost) }()
	for {
		s.store.mu.RLock()
		tree := int64(s.store.state.NumNodes())*perZnode + s.store.state.DataSize()
		s.store.mu.RUnlock()
		// A change stops the world for a moment: only real ones are worth it.
		if want := gcPercent(tree); want*4 < now*3 || want*3 > now*4 {
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

// gcPercent is the garbage to wait for, in percent of a tree of so many bytes.
func gcPercent(tree int64) int {
	return int(min(max(100*garbageAllowance/max(tree, 1), gcPercentLeast), gcPercentMost))
}
