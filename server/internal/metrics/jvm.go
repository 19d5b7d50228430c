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
	used, most, pool, threads, collections *prometheus.Desc
}

// newJVM returns a collector of the numbers that dashboards of a JVM show.
func newJVM() prometheus.Collector {
	area := prometheus.Labels{"area": "heap"}
	return &jvm{
		used: prometheus.NewDesc("jvm_memory_bytes_used", "Bytes of Go's heap in use.", nil, area),
		most: prometheus.NewDesc("jvm_memory_bytes_max",
			"Memory limit of Go's runtime (GOMEMLIMIT), or memory of the machine, in bytes.", nil, area),
		pool: prometheus.NewDesc("jvm_memory_pool_bytes_used",
			"Bytes of Go's runtime in use: the heap, stacks of goroutines, and what the runtime itself needs.",
			[]string{"pool"}, nil),
		threads: prometheus.NewDesc("jvm_threads_current", "Goroutines.", nil, nil),
		collections: prometheus.NewDesc("jvm_gc_collection_seconds", "Pauses for Go's garbage collector.", nil,
			prometheus.Labels{"gc": "go"}),
	}
}

// Describe implements prometheus.Collector.
func (j *jvm) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{j.used, j.most, j.pool, j.threads, j.collections} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (j *jvm) Collect(ch chan<- prometheus.Metric) {
	pools := []rt.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"}}
	rt.Read(pools)
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	ch <- prometheus.MustNewConstMetric(j.used, prometheus.GaugeValue, float64(pools[0].Value.Uint64()))
	for i, name := range []string{"heap", "stacks", "runtime"} {
		ch <- prometheus.MustNewConstMetric(j.pool, prometheus.GaugeValue, float64(pools[i].Value.Uint64()), name)
	}
	if most := facts.MemoryLimit(); most != math.MaxInt64 {
		ch <- prometheus.MustNewConstMetric(j.most, prometheus.GaugeValue, float64(most))
	}
	ch <- prometheus.MustNewConstMetric(j.threads, prometheus.GaugeValue, float64(runtime.NumGoroutine()))
	ch <- prometheus.MustNewConstSummary(j.collections, uint64(gc.NumGC), gc.PauseTotal.Seconds(), nil)
}
