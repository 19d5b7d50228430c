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
type jvm struct{}

// Describe implements prometheus.Collector: a registry refuses a second one.
func (j jvm) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(j, ch) }

// Collect implements prometheus.Collector.
func (jvm) Collect(ch chan<- prometheus.Metric) {
	s, heap := sender(ch), prometheus.Labels{"area": "heap"}
	pools := []rt.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"}}
	rt.Read(pools)
	s.send(prometheus.GaugeValue, "jvm_memory_bytes_used", "Bytes of Go's heap in use.",
		float64(pools[0].Value.Uint64()), heap)
	for i, name := range []string{"heap", "stacks", "runtime"} {
		s.send(prometheus.GaugeValue, "jvm_memory_pool_bytes_used",
			"Bytes of Go's runtime in use: the heap, stacks of goroutines, and what the runtime itself needs.",
			float64(pools[i].Value.Uint64()), prometheus.Labels{"pool": name})
	}
	if most := facts.MemoryLimit(); most != math.MaxInt64 {
		s.send(prometheus.GaugeValue, "jvm_memory_bytes_max",
			"Memory limit of Go's runtime (GOMEMLIMIT), or memory of the machine, in bytes.", float64(most), heap)
	}
	s.gauge("jvm_threads_current", "Goroutines.", float64(runtime.NumGoroutine()))
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	ch <- prometheus.MustNewConstSummary(prometheus.NewDesc("jvm_gc_collection_seconds",
		"Pauses for Go's garbage collector.", nil, prometheus.Labels{"gc": "go"}),
		uint64(gc.NumGC), gc.PauseTotal.Seconds(), nil)
}
