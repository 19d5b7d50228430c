package sched

import (
	"context"
	"runtime/pprof"
)

// labelled runs fn with its name as the pprof label "goroutine", by which profiles can be filtered.
func labelled(name string, fn func()) {
	pprof.Do(context.Background(), pprof.Labels("goroutine", name), func(context.Context) { fn() })
}
