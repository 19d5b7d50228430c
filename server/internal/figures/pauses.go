package figures

import (
	"math"
	rt "runtime/metrics"
	"sync"
)

// Pauses feeds a summary with the pauses of all goroutines that Go's runtime has recorded.
type Pauses struct {
	of *Summary // ms
	mu struct {
		sync.Mutex
		seen []uint64 // counts of the record that were fed
	}
}

// NewPauses returns Pauses that feed of, in ms.
func NewPauses(of *Summary) *Pauses { return &Pauses{of: of} }

// pauseRecord is the runtime's name for pauses for the garbage collector. Pauses for other reasons are rare.
const pauseRecord = "/sched/pauses/total/gc:seconds"

// Refresh feeds the pauses since the last call.
func (p *Pauses) Refresh() {
	sample := []rt.Sample{{Name: pauseRecord}}
	rt.Read(sample)
	if sample[0].Value.Kind() != rt.KindFloat64Histogram {
		return
	}
	h := sample[0].Value.Float64Histogram()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.seen) != len(h.Counts) {
		p.mu.seen = make([]uint64, len(h.Counts))
	}
	for i, n := range h.Counts {
		// A pause counts as the upper bound of its bucket; the last bucket has no end.
		end := h.Buckets[i+1]
		if math.IsInf(end, 1) {
			end = h.Buckets[i]
		}
		p.of.ObserveN(int64(math.Round(end*1e3)), int64(n-p.mu.seen[i]))
		p.mu.seen[i] = n
	}
}
