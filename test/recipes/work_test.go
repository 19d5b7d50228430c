package recipes

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

const (
	workers  = 3                // of each kind
	patience = 20 * time.Second // of sessions that are not to end
)

// work is what programs do together at an ensemble in trouble.
type work struct {
	*testing.T
	*trouble
	seed    uint64
	done    sync.WaitGroup
	during  context.Context // ends with the trouble
	finally context.Context // ends when whoever still waits must give up
	history *History        // for its clock
}

// each runs something for every worker, each with a session over a path of its own.
func (k *work) each(kind uint64, timeout time.Duration, do func(i int, w *worker)) {
	for i := range workers {
		w := &worker{work: k, timeout: timeout, rand: rand.New(rand.NewPCG(k.seed, kind<<8+uint64(i)))}
		k.done.Go(func() {
			path, err := NewPath(k.arena().servers...)
			if err != nil {
				k.Error(err)
				return
			}
			defer path.Close()
			w.path = path
			do(i, w)
			if w.c != nil {
				_ = w.c.Close()
			}
		})
	}
}

// worker is one program.
type worker struct {
	*work
	timeout time.Duration
	rand    *rand.Rand
	path    *Path
	c       *client.Client
}

// session returns a client, a new one if the session of the last is over.
func (w *worker) session() *client.Client {
	if w.c != nil && w.c.State().State != client.Expired {
		return w.c
	}
	c, err := client.New(w.path.Addr(), client.WithSessionTimeout(w.timeout), client.WithBackoff(time.Millisecond, 50*time.Millisecond))
	if err != nil {
		w.Error(err)
	}
	w.c = c
	return c
}

// disturb does something to the path, until the trouble is over.
func (w *worker) disturb() {
	if w.during.Err() != nil {
		return
	}
	switch w.rand.IntN(10) {
	case 0:
		w.path.Cut()
	case 1:
		w.path.LoseReply(1 + w.rand.Int64N(5))
	}
}

// judge tells in the end whether something was done right.
type judge func()

// Numbers that are added, numbers that are handed out, items that are queued and rounds of a barrier: what was acknowledged has happened,
// once, and what may have happened at most once.
func TestNothingIsLostOrDoubledOnAnEnsemble(t *testing.T) {
	seed := seedOf(t)
	n := startTrouble(t, seed, 1000)
	during, cancel := context.WithTimeout(t.Context(), *duration)
	defer cancel()
	finally, end := context.WithTimeout(t.Context(), *duration+time.Minute)
	defer end()
	k := &work{T: t, trouble: n, seed: seed, during: during, finally: finally, history: NewHistory()}
	judges := []judge{k.sums(), k.ids(), k.queue(), k.barrier()}
	<-during.Done()
	n.calm()
	k.done.Wait()
	for _, judge := range judges {
		judge()
	}
	t.Logf("faults: %v", n.faults)
	require.NoError(t, n.WaitEqual(finally))
}

// isOver reports whether an operation has failed because the time was up.
func (k *work) isOver() bool { return k.during.Err() != nil }

// sums adds ones to an AtomicLong.
func (k *work) sums() judge {
	const path = "/work/sum"
	var mu sync.Mutex
	seen := map[int64]int{} // sum -> worker
	unknown := 0
	k.each(1, patience, func(i int, w *worker) {
		n := recipes.NewAtomicLong(w.session(), path)
		for !k.isOver() {
			w.disturb()
			sum, err := n.Add(k.during, 1)
			mu.Lock()
			other, isDouble := seen[sum]
			switch {
			case err == nil && isDouble:
				k.Errorf("sum %d was returned to workers %d and %d", sum, i, other)
			case err == nil:
				seen[sum] = i
			case client.MayHaveApplied(err):
				unknown++
			case !k.isOver() && !client.SafeToRetry(err):
				k.Errorf("adding: %v", err)
			}
			mu.Unlock()
		}
	})
	return func() {
		c, err := client.Dial(k.finally, k.ConnectString())
		require.NoError(k, err)
		defer c.Close()
		require.NoError(k, c.Sync(k.finally, path))
		sum, err := recipes.NewAtomicLong(c, path).Get(k.finally)
		require.NoError(k, err)
		k.Logf("sum %d: %d acknowledged, %d unknown", sum, len(seen), unknown)
		require.NotEmpty(k, seen)
		require.GreaterOrEqual(k, sum, int64(len(seen)))
		require.LessOrEqual(k, sum, int64(len(seen)+unknown))
		for s := range maps.Keys(seen) {
			require.LessOrEqual(k, s, sum)
		}
	}
}

// ids hands out numbers.
func (k *work) ids() judge {
	var mu sync.Mutex
	seen := map[int64]bool{}
	k.each(2, patience, func(_ int, w *worker) {
		ids, last := recipes.NewIDs(w.session(), "/work/id", 3), int64(0)
		for !k.isOver() {
			w.disturb()
			id, err := ids.Next(k.during)
			if err != nil {
				if !k.isOver() {
					k.Errorf("next id: %v", err)
				}
				continue
			}
			mu.Lock()
			if seen[id] || id <= last {
				k.Errorf("id %d after %d, handed out before: %v", id, last, seen[id])
			}
			seen[id], last = true, id
			mu.Unlock()
		}
	})
	return func() {
		k.Logf("%d ids", len(seen))
		require.NotEmpty(k, seen)
	}
}

// queued is what was seen of one item.
type queued struct {
	isPut    bool  // acknowledged, or it may be there
	isKnown  bool  // acknowledged
	takes    int   // how often it was handed to a consumer
	doneAt   int64 // when it was known to be gone, 0 if it was not
	lastTake int64 // call of the last Take that returned it
}

// queue puts items and consumes them. Consumers lose their sessions at times.
func (k *work) queue() judge {
	const items, locks = "/work/queue/items", "/work/queue/locks"
	var mu sync.Mutex
	all := map[int]*queued{}
	next := 0
	k.each(3, patience, func(_ int, w *worker) {
		q := recipes.NewQueue(w.session(), items, locks)
		for !k.isOver() {
			w.disturb()
			mu.Lock()
			next++
			number := next
			item := &queued{}
			all[number] = item
			mu.Unlock()
			err := q.Put(k.during, []byte(strconv.Itoa(number)))
			mu.Lock()
			item.isKnown = err == nil
			item.isPut = err == nil || client.MayHaveApplied(err)
			mu.Unlock()
			if !item.isPut && !k.isOver() && !client.SafeToRetry(err) {
				k.Errorf("put: %v", err)
			}
			pause := time.NewTimer(time.Duration(w.rand.IntN(20)) * time.Millisecond)
			<-pause.C
		}
	})
	k.each(4, sessionTimeout3, func(_ int, w *worker) {
		for k.finally.Err() == nil {
			q := recipes.NewQueue(w.session(), items, locks)
			if k.isOver() {
				if n, err := q.Len(k.finally); n == 0 && err == nil {
					return
				}
			}
			w.disturb()
			call := k.history.Now()
			ctx, cancel := context.WithTimeout(k.finally, time.Second) // to see the end of the queue
			d, err := q.Take(ctx)
			cancel()
			if err != nil {
				continue
			}
			number, err := strconv.Atoi(string(d.Items[0]))
			if err != nil {
				k.Errorf("item %q", d.Items[0])
			}
			mu.Lock()
			item := all[number]
			item.takes++
			item.lastTake = max(item.lastTake, call)
			mu.Unlock()
			switch r := w.rand.IntN(30); {
			case r == 0 && !k.isOver(): // dies with it
				w.path.Stop()
				<-d.Context().Done()
				w.path.Go()
				_ = w.c.Close()
				w.c = nil
				continue
			case r == 1:
				if err := d.Release(k.finally); err != nil {
					k.Errorf("release: %v", err)
				}
				continue
			}
			if err := d.Done(k.finally); err == nil {
				mu.Lock()
				if item.doneAt == 0 {
					item.doneAt = k.history.Now()
				}
				mu.Unlock()
			} else if !errors.Is(err, client.ErrSessionExpired) {
				k.Errorf("done: %v", err)
			}
		}
	})
	return func() {
		known, takes := 0, 0
		for number, item := range all {
			takes += item.takes
			if item.isKnown {
				known++
			}
			switch {
			case item.isKnown && item.takes == 0:
				k.Errorf("item %d was lost", number)
			case !item.isPut && item.takes > 0:
				k.Errorf("item %d was consumed and never put", number)
			case item.doneAt > 0 && item.lastTake > item.doneAt:
				k.Errorf("item %d was done at %d and taken by somebody who came at %d", number, item.doneAt, item.lastTake)
			}
		}
		k.Logf("%d items, %d acknowledged, taken %d times", len(all), known, takes)
		require.Positive(k, known)
	}
}

// barrier begins and ends rounds together.
func (k *work) barrier() judge {
	type round struct{ enters, leaves int } // how many have begun to
	var mu sync.Mutex
	rounds := map[int]*round{}
	change := func(i int, f func(r *round)) {
		mu.Lock()
		defer mu.Unlock()
		if rounds[i] == nil {
			rounds[i] = &round{}
		}
		f(rounds[i])
	}
	k.each(5, patience, func(_ int, w *worker) {
		b := recipes.NewDoubleBarrier(w.session(), "/work/barrier", workers)
		for i := 0; !k.isOver(); i++ {
			w.disturb()
			change(i, func(r *round) { r.enters++ })
			err := b.Enter(k.during)
			if err == nil {
				change(i, func(r *round) {
					if r.enters < workers {
						k.Errorf("round %d: entered with %d of %d", i, r.enters, workers)
					}
					r.leaves++
				})
				w.disturb()
				if err = b.Leave(k.during); err == nil {
					change(i, func(r *round) {
						if r.leaves < workers {
							k.Errorf("round %d: left, and %d of %d were about to", i, r.leaves, workers)
						}
					})
				}
			}
			if err != nil && !k.isOver() {
				k.Errorf("round %d: %v", i, err)
				return
			}
		}
	})
	return func() {
		k.Logf("%d rounds", len(rounds))
		require.Greater(k, len(rounds), 1)
	}
}
