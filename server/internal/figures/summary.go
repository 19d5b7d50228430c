package figures

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Summary counts values in buckets a quarter of a power of two wide, so that the error of a quantile is at most
// an eighth. Observing is a few atomic additions; any goroutine may do it.
//
// It has two readers: the exporter, whose counts only go up and whose quantiles are of the last minutes, and the
// words, which count from the last srst on.
type Summary struct {
	buckets     [64 * 4]atomic.Int64
	sum         atomic.Int64
	least, most atomic.Int64 // since srst
	base        atomic.Pointer[summaryView]
	advanced    bool // ZooKeeper shows quantiles of it
	mu          struct {
		sync.Mutex
		marks []mark // the oldest first
	}
}

// mark is what was counted until a moment.
type mark struct {
	at     time.Time
	counts [64 * 4]int64
}

// quantilesOf is how far back the quantiles of the exporter reach, and quantilesEvery how often what is older is
// forgotten: as those of ZooKeeper 3.9.
const quantilesOf, quantilesEvery = 10 * time.Minute, 2 * time.Minute

// bucketOf maps a value to its bucket: values below 4 are exact.
func bucketOf(v int64) int {
	if v < 4 {
		return int(max(v, 0))
	}
	exp := bits.Len64(uint64(v)) - 1
	return exp*4 + int(v>>(exp-2)&3)
}

// bucketValue is the middle of a bucket.
func bucketValue(i int) float64 {
	if i < 8 {
		return float64(i & 3)
	}
	exp, quarter := i/4, i%4
	width := float64(int64(1) << (exp - 2))
	return float64(int64(1)<<exp) + (float64(quarter)+0.5)*width - 0.5
}

func newSummary(advanced bool) *Summary {
	m := &Summary{advanced: advanced}
	m.begin()
	m.mu.marks = []mark{{at: time.Now()}}
	return m
}

// Observe notes one value.
func (m *Summary) Observe(v int64) { m.ObserveN(v, 1) }

// ObserveN notes a value n times.
func (m *Summary) ObserveN(v, n int64) {
	if n == 0 {
		return
	}
	m.buckets[bucketOf(v)].Add(n)
	m.sum.Add(v * n)
	for least := m.least.Load(); v < least && !m.least.CompareAndSwap(least, v); least = m.least.Load() {
	}
	for most := m.most.Load(); v > most && !m.most.CompareAndSwap(most, v); most = m.most.Load() {
	}
}

func (m *Summary) begin() {
	m.least.Store(1<<63 - 1)
	m.most.Store(0)
}

// reset does what srst asks for: recent restarts, and total goes on.
func (m *Summary) reset() {
	v := m.total()
	m.base.Store(&v)
	m.begin()
}

// summaryView is the state of a summary at one moment.
type summaryView struct {
	counts      [64 * 4]int64
	count, sum  int64
	least, most int64 // of recent; total has none
}

// unknown is the largest value of a view without extremes.
const unknown = 1<<63 - 1

// total returns all observed values.
func (m *Summary) total() (v summaryView) {
	for i := range m.buckets {
		v.counts[i] = m.buckets[i].Load()
		v.count += v.counts[i]
	}
	v.sum, v.most = m.sum.Load(), unknown
	return v
}

// recent returns the values observed since the last reset.
func (m *Summary) recent() summaryView {
	v := m.total()
	if base := m.base.Load(); base != nil {
		for i := range v.counts {
			v.counts[i] -= base.counts[i]
		}
		v.count -= base.count
		v.sum -= base.sum
	}
	v.least, v.most = m.least.Load(), m.most.Load()
	if v.count == 0 {
		v.least = 0
	}
	return v
}

// lately returns the values of a total that were observed within quantilesOf before now, and some that are a little
// older: how much depends on how often it is called.
func (m *Summary) lately(v summaryView, now time.Time) summaryView {
	m.mu.Lock()
	defer m.mu.Unlock()
	marks := m.mu.marks
	if now.Sub(marks[len(marks)-1].at) >= quantilesEvery {
		marks = append(marks, mark{now, v.counts})
	}
	for len(marks) > 1 && now.Sub(marks[1].at) >= quantilesOf {
		marks = slices.Delete(marks, 0, 1)
	}
	m.mu.marks = marks
	for i, n := range marks[0].counts {
		v.counts[i] -= n
		v.count -= n
	}
	return v
}

func (v *summaryView) mean() float64 {
	if v.count == 0 {
		return 0
	}
	return float64(v.sum) / float64(v.count)
}

// quantile returns the value below which the share q of all values lies; 0 if there is none.
func (v *summaryView) quantile(q float64) float64 {
	rank, seen, last := int64(q*float64(v.count)), int64(0), 0.0
	for i, n := range v.counts {
		if n <= 0 {
			continue
		}
		last = min(max(bucketValue(i), float64(v.least)), float64(v.most))
		if seen += n; seen > rank {
			return last
		}
	}
	if v.most != unknown {
		return float64(v.most)
	}
	return last
}

func (m *Summary) lines(name string, line func(key, value string)) {
	v := m.recent()
	line("avg_"+name, Decimal(v.mean()))
	line("min_"+name, fmt.Sprint(v.least))
	line("max_"+name, fmt.Sprint(v.most))
	line("cnt_"+name, fmt.Sprint(v.count))
	line("sum_"+name, fmt.Sprint(v.sum))
	if m.advanced {
		for _, p := range []struct {
			prefix string
			q      float64
		}{{"p50_", 0.5}, {"p95_", 0.95}, {"p99_", 0.99}, {"p999_", 0.999}} {
			line(p.prefix+name, fmt.Sprintf("%.0f", v.quantile(p.q)))
		}
	}
}

// metric returns the summary with the quantiles of ZooKeeper 3.9, and if it is advanced also those of 3.10. Without a
// value they are no numbers, as there.
func (m *Summary) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	v, q := m.total(), map[float64]float64{0.5: 0}
	if m.advanced {
		q[0.9], q[0.95], q[0.99] = 0, 0, 0
	}
	lately := m.lately(v, time.Now())
	for share := range q {
		if q[share] = lately.quantile(share); lately.count == 0 {
			q[share] = math.NaN()
		}
	}
	return prometheus.MustNewConstSummary(desc, uint64(max(v.count, 0)), float64(v.sum), q, labels...)
}
