package bench

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"
)

// canTry is false: the runtime has sockets in a mode in which nothing else may write to them.
const canTry = false

func writeOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

// raiseFileLimit does nothing: there is no such limit.
func raiseFileLimit(int) error { return nil }

func ownCPU() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return 0
	}
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 + int64(f.LowDateTime) } // of 100 ns
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}
