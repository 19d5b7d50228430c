package watch

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

var watchesChurn = flag.Int("watch.churn", 300_000, "one-shot watches set and fired by the churn test")

func ignoreEvent(WatcherID, proto.EventType, []byte, datatree.ACLID) {}

func TestFireDoesNotAllocate(t *testing.T) {
	path := []byte("/service/members/member-0000000042")
	tests := []struct {
		name string
		kind Kind
		path []byte
	}{
		{"no watcher", Child, []byte("/elsewhere")},
		{"one-shot watcher, set again each time", Data, path},
		{"persistent watcher", Persistent, path},
		{"recursive watcher two levels up", Recursive, []byte("/service")},
		{"recursive watcher of the root", Recursive, []byte("/")},
		{"child watcher of the parent", Child, []byte("/service/members")},
	}
	for _, tt := range tests {
		w := New(0)
		w.Add(9, Data, []byte("/kept"))
		heard := 0
		deliver := func(WatcherID, proto.EventType, []byte, datatree.ACLID) { heard++ }
		allocs := testing.AllocsPerRun(200, func() {
			w.Add(3, tt.kind, tt.path)
			w.Fire(datatree.Change{Type: nodeCreated, Path: path}, deliver)
			w.Fire(datatree.Change{Type: nodeDataChanged, Path: path}, deliver)
			w.Fire(datatree.Change{Type: nodeDeleted, Path: path}, deliver)
		})
		require.Zero(t, allocs, tt.name)
		require.Equal(t, tt.name == "no watcher", heard == 0, tt.name)
	}
}

// TestWatchMemory holds 200,000 watches, 2,000 paths x 100 connections, to 32 bytes each, and a path
// that one connection watches to 150 bytes with its name of 40. BenchmarkWatchGrid does a million.
func TestWatchMemory(t *testing.T) {
	perWatch := gridBytes(2_000, 100)
	t.Logf("%.1f bytes a watch", perWatch)
	require.LessOrEqual(t, perWatch, 32.0)

	const paths = 50_000
	perPath := heapOf(func() any {
		w := New(0)
		for i := range paths {
			w.Add(WatcherID(i%1000), Data, fmt.Appendf(nil, "/service/some-application/member-%06d", i))
		}
		return w
	}) / paths
	t.Logf("%.1f bytes a watched path of 40 bytes with one watcher", perPath)
	require.LessOrEqual(t, perPath, 150.0)
}

// gridBytes returns the memory of a watch when each connection watches each path.
func gridBytes(paths, connections int) float64 {
	return heapOf(func() any {
		w := New(0)
		watchGrid(w, paths, connections)
		return w
	}) / float64(paths*connections)
}

func watchGrid(w *Registry, paths, connections int) {
	for i := range paths {
		path := fmt.Appendf(nil, "/service/some-application/member-%06d", i)
		for id := range connections {
			w.Add(WatcherID(id), Data, path)
		}
	}
}

// heapOf returns the bytes that what build returns keeps alive.
func heapOf(build func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// TestChurnDoesNotLeak sets and fires one-shot watches on ever new paths by ever new connections:
// after the first rounds no more memory is taken.
func TestChurnDoesNotLeak(t *testing.T) {
	const round = 10_000
	w := New(0)
	chunks := func() int { return len(w.sets.chunks) + len(w.paths.names.chunks) + len(w.paths.pages) }
	path := make([]byte, 0, 64)
	heard, settled := 0, 0
	deliver := func(WatcherID, proto.EventType, []byte, datatree.ACLID) { heard++ }
	for done := 0; done < *watchesChurn; done += round {
		for i := range round {
			path = fmt.Appendf(path[:0], "/churn/%d/%d", done, i/10)
			w.Add(WatcherID(i%1000), Exist, path)
		}
		for i := 0; i < round; i += 10 {
			path = fmt.Appendf(path[:0], "/churn/%d/%d", done, i/10)
			w.Fire(datatree.Change{Type: nodeCreated, Path: path}, deliver)
		}
		switch {
		case done == 10*round:
			settled = chunks()
		case done > 10*round:
			require.Equal(t, settled, chunks(), "chunks after %d watches", done)
		}
	}
	require.Equal(t, *watchesChurn, heard)
	watchers, paths, total := w.Count()
	require.Zero(t, watchers+paths+total)
	requireNothingHeld(t, w)
}

func BenchmarkFireNobody(b *testing.B) {
	w := New(0)
	c := datatree.Change{Type: nodeDataChanged, Path: []byte("/service/members/member-0000000042")}
	b.ReportAllocs()
	for b.Loop() {
		w.Fire(c, ignoreEvent)
	}
}

func BenchmarkFireOtherPaths(b *testing.B) {
	w := New(0)
	watchGrid(w, 10_000, 10)
	c := datatree.Change{Type: nodeDataChanged, Path: []byte("/service/members/member-0000000042")}
	b.ReportAllocs()
	for b.Loop() {
		w.Fire(c, ignoreEvent)
	}
}

func BenchmarkAddAndFireOneShot(b *testing.B) {
	w := New(0)
	watchGrid(w, 10_000, 10)
	path := []byte("/service/members/member-0000000042")
	c := datatree.Change{Type: nodeDataChanged, Path: path}
	b.ReportAllocs()
	for b.Loop() {
		w.Add(5, Data, path)
		w.Fire(c, ignoreEvent)
	}
}

func BenchmarkFireRecursive4Deep(b *testing.B) {
	w := New(0)
	w.Add(1, Recursive, []byte("/a"))
	c := datatree.Change{Type: nodeDataChanged, Path: []byte("/a/bbbbbbb/ccccccc/ddddddd")}
	b.ReportAllocs()
	for b.Loop() {
		w.Fire(c, ignoreEvent)
	}
}

// BenchmarkFireRecursiveByLength changes a znode whose path has more and more levels, while one connection watches
// the root recursively.
func BenchmarkFireRecursiveByLength(b *testing.B) {
	for _, levels := range []int{4, 20, 200, 2_000, 20_000} {
		b.Run(fmt.Sprintf("levels=%d", levels), func(b *testing.B) {
			w := New(0)
			w.Add(1, Recursive, []byte("/"))
			c := datatree.Change{Type: nodeDataChanged, Path: bytes.Repeat([]byte("/level"), levels)}
			b.ReportAllocs()
			for b.Loop() {
				w.Fire(c, ignoreEvent)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*levels), "ns/level")
		})
	}
}

// BenchmarkFire100kOneShot is the time of one change that 100,000 connections watch.
func BenchmarkFire100kOneShot(b *testing.B) {
	w := New(0)
	path := []byte("/config")
	c := datatree.Change{Type: nodeDataChanged, Path: path}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for id := range WatcherID(100_000) {
			w.Add(id, Data, path)
		}
		b.StartTimer()
		w.Fire(c, ignoreEvent)
	}
}

// BenchmarkFire100kPersistent is the same with persistent watches.
func BenchmarkFire100kPersistent(b *testing.B) {
	w := New(0)
	path := []byte("/config")
	for id := range WatcherID(100_000) {
		w.Add(id, Persistent, path)
	}
	c := datatree.Change{Type: nodeDataChanged, Path: path}
	b.ReportAllocs()
	for b.Loop() {
		w.Fire(c, ignoreEvent)
	}
}

// BenchmarkWatchGrid registers a million watches, 10,000 paths x 100 connections, and removes one
// connection after another.
func BenchmarkWatchGrid(b *testing.B) {
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			watchGrid(New(0), 10_000, 100)
		}
		b.ReportMetric(gridBytes(10_000, 100), "bytes/watch")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/watch")
	})
	b.Run("removeAll", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			w := New(0)
			watchGrid(w, 10_000, 100)
			b.StartTimer()
			for id := range WatcherID(100) {
				w.RemoveAll(id)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/watch")
	})
}
