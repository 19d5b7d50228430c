package figures

import (
	"math"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
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

// jvm reports numbers of Go's runtime under the names that dashboards of a JVM show. Source: operations 4.5.
type jvm struct {
	used, most, threads, collections *prometheus.Desc
}

// MemoryLimit is how many bytes this process may have: the limit of Go's runtime (GOMEMLIMIT), or the memory of the
// machine if that is less. It is math.MaxInt64 if both are unknown.
func MemoryLimit() int64 { return min(debug.SetMemoryLimit(-1), machineMemory()) }

// NewJVM returns a collector of the numbers that dashboards of a JVM show.
func NewJVM() prometheus.Collector {
	area := prometheus.Labels{"area": "heap"}
	return &jvm{
		used: prometheus.NewDesc("jvm_memory_bytes_used", "Bytes of Go's heap in use.", nil, area),
		most: prometheus.NewDesc("jvm_memory_bytes_max",
			"Memory limit of Go's runtime (GOMEMLIMIT), or memory of the machine, in bytes.", nil, area),
		threads: prometheus.NewDesc("jvm_threads_current", "Goroutines.", nil, nil),
		collections: prometheus.NewDesc("jvm_gc_collection_seconds", "Pauses for Go's garbage collector.", nil,
			prometheus.Labels{"gc": "go"}),
	}
}

// Describe implements prometheus.Collector.
func (j *jvm) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{j.used, j.most, j.threads, j.collections} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (j *jvm) Collect(ch chan<- prometheus.Metric) {
	heap := []rt.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	rt.Read(heap)
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	ch <- prometheus.MustNewConstMetric(j.used, prometheus.GaugeValue, float64(heap[0].Value.Uint64()))
	if most := MemoryLimit(); most != math.MaxInt64 {
		ch <- prometheus.MustNewConstMetric(j.most, prometheus.GaugeValue, float64(most))
	}
	ch <- prometheus.MustNewConstMetric(j.threads, prometheus.GaugeValue, float64(runtime.NumGoroutine()))
	ch <- prometheus.MustNewConstSummary(j.collections, uint64(gc.NumGC), gc.PauseTotal.Seconds(), nil)
}
