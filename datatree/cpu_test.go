package datatree

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time this process has used, which other processes of a busy machine
// change less than they change the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU reports the processor time since start for each of n znodes.
func reportCPU(b *testing.B, start time.Duration, n int) {
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(n), "cpu-ns/znode")
}
