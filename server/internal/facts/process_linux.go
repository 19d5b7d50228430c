package facts

import (
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelVersion is the release of the operating system.
func kernelVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "n/a"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// fileDescriptors returns how many descriptors are open and how many may be open.
func fileDescriptors() (open, most int64) {
	if names, err := os.ReadDir("/proc/self/fd"); err == nil {
		open = int64(len(names))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		most = int64(limit.Cur)
	}
	return open, most
}

// machineMemory returns the bytes of memory of this machine, math.MaxInt64 if they are unknown.
func machineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return math.MaxInt64
	}
	return int64(info.Totalram) * int64(info.Unit)
}
