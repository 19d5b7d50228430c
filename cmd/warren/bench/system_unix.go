//go:build unix

package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// canTry is whether writeOnce returns at once if the socket takes nothing.
const canTry = true

func writeOnce(fd uintptr, b []byte) (int, error) { return unix.Write(int(fd), b) }

// raiseFileLimit asks for n open files and returns an error that says what is missing.
func raiseFileLimit(n int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("bench: limit of open files: %w", err)
	}
	need := uint64(n) + 64
	if limit.Cur >= need {
		return nil
	}
	wanted := unix.Rlimit{Cur: need, Max: max(need, limit.Max)}
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &wanted) == nil {
		return nil
	}
	return fmt.Errorf("bench: %d connections need %d open files, the limit is %d (ulimit -Hn)", n, need, limit.Max)
}

func ownCPU() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
