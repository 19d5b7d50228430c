package watch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Long paths take a chunk each, and the references of chunks are few. When none is left, watches are refused and all
// others are as before; when some are gone, there is room again.
func TestWatchesAreRefusedWhenNoReferenceIsLeft(t *testing.T) {
	w := New(0)
	w.paths.names.places = 10
	path := func(i int) []byte { return fmt.Appendf(nil, "/%05000d", i) }
	n := 0
	for w.Add(WatcherID(1+n%3), Data, path(n)) {
		n++
	}
	require.Equal(t, 10, n)
	require.False(t, w.Add(9, Recursive, path(n)))
	require.False(t, w.Add(9, Recursive, []byte("/short")))
	require.Zero(t, countOf(w.Use(9)))
	watchers, paths, total := w.Count()
	require.Equal(t, [3]int{3, 10, 10}, [3]int{watchers, paths, total})
	require.True(t, w.Add(9, Recursive, path(0)), "a path that is watched takes no reference")
	require.True(t, w.Add(1, Child, path(0)))
	w.RemoveAll(2)
	require.True(t, w.Add(9, Recursive, path(n)))
	for id := range WatcherID(10) {
		w.RemoveAll(id)
	}
	requireNothingHeld(t, w)
}

// The same for entries and for sets.
func TestWatchesAreRefusedWhenNoNumberIsLeft(t *testing.T) {
	for name, narrow := range map[string]func(*Registry){
		"entries": func(w *Registry) { w.paths.places = 2 },
		"sets":    func(w *Registry) { w.sets.places = 8 },
	} {
		w := New(0)
		narrow(w)
		n := 0
		for w.Add(WatcherID(n%1000), Data, fmt.Appendf(nil, "/%d", n)) {
			n++
			require.Less(t, n, 1_000_000, name)
		}
		require.Greater(t, n, 1000, name)
		for id := range WatcherID(1000) {
			w.RemoveAll(id)
		}
		requireNothingHeld(t, w)
		require.True(t, w.Add(1, Data, []byte("/")), name)
	}
}

func countOf(paths int, _ uint64) int { return paths }

// The memory of all watches has a bound, whatever their paths are like, and what is counted is what they take.
func TestMemoryOfWatchesIsBounded(t *testing.T) {
	const most = 8 << 20
	r := rand.New(rand.NewPCG(newSeed(t), 5))
	for name, path := range map[string]func(i int) string{
		"short":     func(i int) string { return fmt.Sprintf("/%d", i) },
		"long":      func(i int) string { return fmt.Sprintf("/%05000d", i) },
		"largest":   func(i int) string { return fmt.Sprintf("/%d", i) + strings.Repeat("x", 1<<20-10) },
		"of a size": func(i int) string { return fmt.Sprintf("/%0*d", 10+r.IntN(6000), i) },
		"shared":    func(i int) string { return fmt.Sprintf("/%d", i%100) },
	} {
		var w *Registry
		took := heapOf(func() any {
			w = New(most)
			for i := 0; w.Add(WatcherID(i/100), Kind(i%5), []byte(path(i))); i++ {
				require.Less(t, i, 2_000_000, name)
			}
			return w
		})
		require.LessOrEqual(t, w.Held(), uint64(most), name)
		require.Greater(t, w.Held(), uint64(most-2<<20), name)
		slots := float64(40 * cap(w.slots))
		require.InEpsilon(t, took-slots, float64(w.Held()), 0.2, name)
		t.Logf("%s: %d bytes, counted %d", name, int(took), w.Held())
		for id := range w.slots {
			w.RemoveAll(WatcherID(id))
		}
		requireNothingHeld(t, w)
	}
}

// When most watches go, so does their memory, while the rest stay.
func TestMemoryOfWatchesIsGivenBack(t *testing.T) {
	w := New(0)
	w.Add(0, Data, []byte("/kept"))
	fill := func() {
		for i := range 200_000 {
			w.Add(WatcherID(1+i%100), Data, fmt.Appendf(nil, "/service/some-application/member-%06d", i))
		}
	}
	fill()
	require.Greater(t, w.Held(), uint64(16<<20))
	for id := range WatcherID(100) {
		w.RemoveAll(1 + id)
	}
	require.Less(t, w.Held(), uint64(3<<20))
}
