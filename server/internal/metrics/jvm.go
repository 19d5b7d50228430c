package metrics

import (
	"math"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed94657493/warren/server/internal/facts"
)

// jvm reports numbers of Go's runtime under the names that dashboards of a JVM show. Source: operations 4.5.
type jvm struct {
	used, most, threads, collections *prometheus.Desc
}

// newJVM returns a collector of the numbers that dashboards of a JVM show.
func newJVM() prometheus.Collector {
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
	if most := facts.MemoryLimit(); most != math.MaxInt64 {
		ch <- prometheus.MustNewConstMetric(j.most, prometheus.GaugeValue, float64(most))
	}
	ch <- prometheus.MustNewConstMetric(j.threads, prometheus.GaugeValue, float64(runtime.NumGoroutine()))
	ch <- prometheus.MustNewConstSummary(j.collections, uint64(gc.NumGC), gc.PauseTotal.Seconds(), nil)
}
