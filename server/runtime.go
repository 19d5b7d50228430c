package server

import (
	"math"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// What the metrics say about the process under the names that dashboards know from the JVM.
// Source: operations section 4.5.

// pauses feeds the runtime's own record of stopped worlds into a summary.
type pauses struct {
	of *summary // ms
	mu struct {
		sync.Mutex
		seen []uint64 // counts that were fed
	}
}

// pauseRecord is the name of the record: pauses for the garbage collector. A pause for other reasons is rare.
const pauseRecord = "/sched/pauses/total/gc:seconds"

// refresh feeds what has happened since the last time.
func (p *pauses) refresh() {
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
		// A pause is as long as its bucket allows; the last bucket has no end.
		end := h.Buckets[i+1]
		if math.IsInf(end, 1) {
			end = h.Buckets[i]
		}
		p.of.observeN(int64(math.Round(end*1e3)), int64(n-p.mu.seen[i]))
		p.mu.seen[i] = n
	}
}

// jvm is a collector of the numbers that JVM dashboards show, taken from Go's runtime.
type jvm struct {
	used, most, threads, collections *prometheus.Desc
}

func newJVM() *jvm {
	area := prometheus.Labels{"area": "heap"}
	return &jvm{
		used:        prometheus.NewDesc("jvm_memory_bytes_used", "Bytes of Go's heap in use.", nil, area),
		most:        prometheus.NewDesc("jvm_memory_bytes_max", "Memory limit of Go's runtime (GOMEMLIMIT) in bytes; very large without one.", nil, area),
		threads:     prometheus.NewDesc("jvm_threads_current", "Goroutines.", nil, nil),
		collections: prometheus.NewDesc("jvm_gc_collection_seconds", "Pauses for Go's garbage collector.", nil, prometheus.Labels{"gc": "go"}),
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
	ch <- prometheus.MustNewConstMetric(j.most, prometheus.GaugeValue, float64(debug.SetMemoryLimit(-1)))
	ch <- prometheus.MustNewConstMetric(j.threads, prometheus.GaugeValue, float64(runtime.NumGoroutine()))
	ch <- prometheus.MustNewConstSummary(j.collections, uint64(gc.NumGC), gc.PauseTotal.Seconds(), nil)
}
