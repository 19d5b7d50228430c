package clientbench

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

// slotsMax is how many requests of a client may be outstanding.
const slotsMax = 1000

// drive keeps n requests outstanding until the recording is over, and then waits for them.
type drive func(n int, r *recording)

// recording is what is noted during one turn.
type recording struct {
	over   atomic.Bool
	count  atomic.Int64
	failed atomic.Pointer[error]
	slots  [][]time.Duration // latencies, by slot; those beyond the capacity are left out
}

func newRecording(n int) *recording {
	r := &recording{slots: make([][]time.Duration, n)}
	for i := range r.slots {
		r.slots[i] = make([]time.Duration, 0, 32768/n+512)
	}
	return r
}

func (r *recording) fail(err error) {
	cause := err // err itself stays off the heap
	r.failed.Store(&cause)
	r.over.Store(true)
}

func (r *recording) note(slot int, took time.Duration) {
	if s := r.slots[slot]; len(s) < cap(s) {
		r.slots[slot] = append(s, took)
	}
}

// goroutines has a goroutine for each slot, which does one operation after the other.
func goroutines(run func(slot int) error) drive {
	return func(n int, r *recording) {
		var all sync.WaitGroup
		for slot := range n {
			all.Go(func() {
				count := int64(0)
				// one at least, however busy the machine is
				for first := true; first || !r.over.Load(); first = false {
					at := time.Now()
					if err := run(slot); err != nil {
						r.fail(err)
						return
					}
					r.note(slot, time.Since(at))
					count++
				}
				r.count.Add(count)
			})
		}
		all.Wait()
	}
}

// window has one goroutine for all slots: it waits for the oldest operation and starts the next in its place.
func window(start func(slot int), wait func(slot int) error) drive {
	return func(n int, r *recording) {
		at := make([]time.Time, n)
		for slot := range n {
			at[slot] = time.Now()
			start(slot)
		}
		for slot, left := 0, n; left > 0; slot = (slot + 1) % n {
			if err := wait(slot); err != nil {
				r.fail(err)
			}
			r.note(slot, time.Since(at[slot]))
			r.count.Add(1)
			if r.over.Load() {
				left--
				continue
			}
			at[slot] = time.Now()
			start(slot)
		}
	}
}

// futures is window for an operation that has a Future.
func futures[T any](start func(slot int) client.Future[T]) drive {
	started := make([]client.Future[T], slotsMax)
	return window(func(slot int) { started[slot] = start(slot) }, func(slot int) error {
		_, err := started[slot].Wait(context.Background())
		return err
	})
}

// A drive keeps exactly as many operations outstanding as it is told, and does not forget those that it has started.
func TestDrives(t *testing.T) {
	for _, n := range []int{1, 7} {
		var outstanding, most, done atomic.Int64
		r := newRecording(n)
		begin := func() {
			if now := outstanding.Add(1); now > most.Load() {
				most.Store(now)
			}
		}
		finish := func() {
			outstanding.Add(-1)
			if done.Add(1) == 1000 {
				r.over.Store(true)
			}
		}
		var together sync.WaitGroup
		together.Add(n)
		var met sync.Map
		goroutines(func(slot int) error {
			begin()
			if _, again := met.LoadOrStore(slot, true); !again {
				together.Done()
				together.Wait() // all slots are in use at the same time
			}
			finish()
			return nil
		})(n, r)
		require.EqualValues(t, n, most.Load())
		require.Zero(t, outstanding.Load())
		require.Equal(t, done.Load(), r.count.Load())

		most.Store(0)
		done.Store(0)
		r = newRecording(n)
		window(func(int) { begin() }, func(int) error { finish(); return nil })(n, r)
		require.EqualValues(t, n, most.Load())
		require.Zero(t, outstanding.Load())
		require.Equal(t, done.Load(), r.count.Load())
		for _, s := range r.slots {
			require.NotEmpty(t, s)
		}
	}
}
