package facts

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func kernelVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "n/a"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// fileDescriptors returns how many descriptors are open and how many may be open. Since Linux 6.2 the size of their
// directory is their number; to list it takes long if there are many.
func fileDescriptors() (open, most int64) {
	const all = "/proc/self/fd"
	var dir syscall.Stat_t
	if err := syscall.Stat(all, &dir); err == nil && dir.Size > 0 {
		open = dir.Size
	} else if names, err := os.ReadDir(all); err == nil {
		open = int64(len(names))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		most = int64(limit.Cur)
	}
	return open, most
}
