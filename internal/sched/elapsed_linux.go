package sched

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns for how long the machine was suspended since it was booted, as the kernel says: its clock of the
// time since then is ahead of the clock that stands still by that time.
func suspended() time.Duration {
	var boot, running unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &running) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - running.Nano())
}
