package env

import (
	"math"
	"syscall"
)

// machineMemory returns the bytes of memory of this machine, math.MaxInt64 if they are unknown.
func machineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return math.MaxInt64
	}
	return int64(info.Totalram) * int64(info.Unit)
}
