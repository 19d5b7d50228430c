// Package metrics exports what a server knows of itself to Prometheus. The names are ZooKeeper's; Warren's own begin
// with warren_. It publishes and decides nothing: it asks packages facts and ensemble at each scrape, and the counters
// and summaries of package figures, to which the code that does the work adds.
//
// It has no state and no goroutine. A scrape runs in a goroutine of net/http. The ports are opened by package server.
//
// # Files
//
//	exporter  what is collected, and the handler that serves it
//	jvm       numbers of Go's runtime, under the names that dashboards of a JVM use
package metrics
