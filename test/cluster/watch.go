package cluster

import (
	"testing"
	"time"
)

// Watch measures how long something is waited for, without the time in which this process, and with it what it waits
// for, did not run: machines that tests share stand still now and then. Start it with NewWatch. It must not be used
// concurrently.
type Watch struct {
	last    time.Time
	elapsed time.Duration
}

// watchStep is the most that counts between two looks at a Watch.
const watchStep = 6 * time.Second

// NewWatch starts a watch.
func NewWatch() *Watch { return &Watch{last: time.Now()} }

// Elapsed returns the time since the start. Look at it more often than every watchStep.
func (w *Watch) Elapsed() time.Duration {
	now := time.Now()
	w.elapsed += min(now.Sub(w.last), watchStep)
	w.last = now
	return w.elapsed
}

// Eventually waits until ok holds, and fails the test if it does not within limit on a Watch. A call of ok may take
// up to a few seconds.
func Eventually(t testing.TB, ok func() bool, limit time.Duration, format string, args ...any) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for w := NewWatch(); !ok(); <-tick.C {
		if w.Elapsed() > limit {
			t.Fatalf("after %v: "+format, append([]any{limit}, args...)...)
		}
	}
}
