package facts

import (
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
