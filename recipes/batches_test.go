package recipes

import (
	"math"
	"testing"
	"time"

	"github.com/seed94657493/warren/proto/layouts"
)

// Names captured from Curator 5.4, of priorities 5, -5, 0, and the extremes; and of times.
func TestNamesOfBatchesAreCurators(t *testing.T) {
	for priority, want := range map[int32]string{
		5: "100000005", -5: "0FFFFFFFB", 0: "100000000", math.MaxInt32: "17FFFFFFF", math.MinInt32: "080000000",
	} {
		equal(t, want, layouts.PriorityText(priority))
	}
	equal(t, "|18BCFE56800|", timeText(time.UnixMilli(1700000000000)))
	equal(t, "|18BCFE56801|", timeText(time.UnixMilli(1700000000000).Add(1)), "never early")
	equal(t, "|00000001|", timeText(time.UnixMilli(1)))
	equal(t, "|00000001|", timeText(time.Time{}))
}

func TestBatchesAreInOrder(t *testing.T) {
	names := func(parse func(string) (entry, bool), all ...string) (got []string) {
		for _, e := range (&batches{parse: parse}).order(all) {
			got = append(got, e.name)
		}
		return got
	}
	equal(t, []string{"queue-2147483647", "queue--2147483648"},
		names(inOrder, "queue--2147483648", "queue-", "queue-x", "other", "queue-+000000001", "queue-2147483647",
			"queue-99999999999"))
	equal(t, []string{"queue-0800000000000000003", "queue-0FFFFFFFB0000000001", "queue-1000000000000000002",
		"queue-1000000000000000004", "queue-17FFFFFFF0000000000"},
		names(byPriority, "queue-17FFFFFFF0000000000", "queue-1000000000000000004", "queue-0FFFFFFFB0000000001",
			"queue-1000000000000000002", "queue-0800000000000000003", "queue-1FFFFFFFB0000000001", "queue-0000000005",
			"queue-1", "queue-10000000x0000000001"))
	equal(t, []string{"queue-|00000001|0000000003", "queue-|18BCFE56800|0000000000",
		"queue-|18BCFE56800|0000000001", "queue-|7FFFFFFFFFFFFFFF|0000000002"},
		names(byTime, "queue-|18BCFE56800|0000000001", "queue-|7FFFFFFFFFFFFFFF|0000000002",
			"queue-|18BCFE56800|0000000000", "queue-|00000001|0000000003", "queue-|FFFFFFFFFFFFFFFF|0000000002",
			"queue-|1", "queue-1|0000000001", "queue-||0000000001", "queue-|1|"))
}

func FuzzBatchNames(f *testing.F) {
	f.Add("queue-0000000007")
	f.Add("queue-0FFFFFFFB0000000001")
	f.Add("queue-|18BCFE56800|0000000000")
	f.Fuzz(func(t *testing.T, name string) {
		for _, parse := range []func(string) (entry, bool){inOrder, byPriority, byTime} {
			for _, e := range (&batches{parse: parse}).order([]string{name}) {
				equal(t, name, e.name)
			}
		}
	})
}
