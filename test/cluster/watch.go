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

// pauseMin and pauseMax bound a pause.
const pauseMin, pauseMax = 10 * time.Millisecond, 500 * time.Millisecond

// pause is how long to wait before the next look: a small part of the time that has passed, so that a long wait costs
// few looks, and is noticed little after its end.
func (w *Watch) pause() time.Duration { return min(max(w.Elapsed()/16, pauseMin), pauseMax) }

// Pause sleeps until the next look is due.
func (w *Watch) Pause() { time.Sleep(w.pause()) }

// Eventually waits until ok holds, and fails the test if it does not within limit on a Watch. A call of ok may take
// up to a few seconds.
func Eventually(t testing.TB, ok func() bool, limit time.Duration, format string, args ...any) {
	t.Helper()
	for w := NewWatch(); !ok(); w.Pause() {
		if w.Elapsed() > limit {
			t.Fatalf("after %v: "+format, append([]any{limit}, args...)...)
		}
	}
}
