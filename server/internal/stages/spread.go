package stages

import (
	"math/bits"
	"sync/atomic"
)

// spreadSlots is the number of buckets of a Spread: a quarter of a power of two each, up to an hour in microseconds.
const spreadSlots = 33 * 4

// Spread counts times in buckets, so that the error of a quantile is at most an eighth. Any goroutine may use it.
type Spread [spreadSlots]atomic.Int64

// Counts are those of a Spread at one moment.
type Counts [spreadSlots]int64

// observe counts a time in ns.
func (s *Spread) observe(ns int64) { s[slotOf(ns/1000)].Add(1) }

// slotOf is the bucket of a number of microseconds.
func slotOf(us int64) int {
	if us < 4 {
		return int(max(us, 0))
	}
	exp := bits.Len64(uint64(us)) - 1
	return min(exp*4+int(us>>(exp-2)&3), spreadSlots-1)
}

// Counts returns the present counts.
func (s *Spread) Counts() (c Counts) {
	for i := range s {
		c[i] = s[i].Load()
	}
	return c
}

// Quantile returns the time in ms below which the share q lies of what was counted after before; ok is false if that
// is nothing.
func (c *Counts) Quantile(before *Counts, q float64) (ms float64, ok bool) {
	all := int64(0)
	for i := range c {
		all += c[i] - before[i]
	}
	if all == 0 {
		return 0, false
	}
	rank, seen := int64(q*float64(all)), int64(0)
	for i := range c {
		if seen += c[i] - before[i]; seen > rank {
			return middleOf(i) / 1000, true
		}
	}
	return middleOf(spreadSlots-1) / 1000, true
}

// middleOf is the middle of a bucket, in microseconds.
func middleOf(i int) float64 {
	if i < 8 {
		return float64(i & 3)
	}
	width := float64(int64(1) << (i/4 - 2))
	return float64(int64(1)<<(i/4)) + (float64(i%4)+0.5)*width
}

// Spreads returns how long each stage took, and last all stages together, of the operations of Observe; nil if nothing
// is measured.
func (r *Recorder) Spreads() *[Number + 1]Spread {
	if r == nil {
		return nil
	}
	return &r.spreads
}
