package datatree

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// threadTime returns the processor time of this thread, to which the goroutine must be locked.
func threadTime() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// reportCPU reports the processor time since start for each of n znodes.
func reportCPU(b *testing.B, start time.Duration, n int) {
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(n), "cpu-ns/znode")
}
