package require

import (
	"runtime"
	"slices"
	"strings"
	"time"
)

// Goroutines returns the stacks of the goroutines that have not ended after a time, except the caller's and those
// of the runtime. It is for TestMain, after the last test.
func Goroutines(after time.Duration) (stacks []string) {
	isOther := func(stack string) bool {
		return strings.Contains(stack, "os/signal.") || strings.Contains(stack, "runtime.ensureSigM")
	}
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(after); ; time.Sleep(time.Millisecond) {
		all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		if stacks = slices.DeleteFunc(all[1:], isOther); len(stacks) == 0 || time.Now().After(end) {
			return stacks
		}
	}
}

// Eventually wants a condition to be true within a time. It checks again after each pause.
func Eventually(t T, condition func() bool, within, pause time.Duration, note ...any) {
	t.Helper()
	for end := time.Now().Add(within); !condition(); time.Sleep(pause) {
		check(t, time.Now().Before(end), note, "not so after %v", within)
	}
}
