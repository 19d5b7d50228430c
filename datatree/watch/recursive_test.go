package watch

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// FuzzRecursive watches what the lines of a text say, recursively or for data, and changes every path of it. The
// events must be those of the model, which looks at each ancestor by itself.
func FuzzRecursive(f *testing.F) {
	f.Add("/\n/a\n/a/b\n/a/b/c")
	f.Add("/a\n/ab\n/ab/c\n/a/b")
	f.Add("\n/\nno path\n/a/")
	f.Add("/level" + strings.Repeat("/level", 60) + "\n/level/level\n/")
	f.Add(strings.Repeat("/"+strings.Repeat("x", 127), 3) + "\n/" + strings.Repeat("x", 127))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			t.Skip("long texts only take time")
		}
		w, m := New(0), &watchModel{watchManager{}, watchManager{}}
		lines := strings.Split(text, "\n")
		for i, path := range lines {
			kind := []Kind{Recursive, Recursive, Data}[i%3]
			w.Add(WatcherID(i%7), kind, []byte(path))
			m.add(WatcherID(i%7), kind, path)
		}
		for i, path := range lines {
			if !strings.HasPrefix(path, "/") || path != "/" && strings.HasSuffix(path, "/") ||
				strings.Contains(path, "//") {
				continue // no znode has this path
			}
			event := proto.EventType(1 + i%3)
			require.Equal(t, m.fire(event, path), fired(w, event, path), "%v %s", event, path)
		}
	})
}

// TestRecursiveWatchesCostTheLengthOfThePath compares what a level of a path costs, for paths of 100 and of 20,000
// levels. To hash each ancestor by itself makes a level of the long path a hundred times dearer.
func TestRecursiveWatchesCostTheLengthOfThePath(t *testing.T) {
	w := New(0)
	w.Add(1, Recursive, []byte("/"))
	perLevel := func(levels, times int) float64 {
		c := datatree.Change{Type: nodeDataChanged, Path: bytes.Repeat([]byte("/level"), levels)}
		best := math.MaxFloat64
		for range 5 {
			begun := time.Now()
			for range times {
				w.Fire(c, ignoreEvent)
			}
			best = min(best, float64(time.Since(begun).Nanoseconds())/float64(times*levels))
		}
		return best
	}
	short, long := perLevel(100, 200), perLevel(20_000, 1)
	t.Logf("%.0f ns a level of 100, %.0f ns a level of 20,000", short, long)
	require.Less(t, long, 20*short)
}
