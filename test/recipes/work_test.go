package recipes

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

const (
	workers  = 3                // of each kind
	patience = 40 * time.Second // of sessions that are not to end
	// connectTimeout is when a server is given up that says neither yes nor no. There is one address for all servers,
	// so that by default it would be patience.
	connectTimeout = 2 * time.Second
	// enough bounds the wait for something to judge, and for what is left to do when the trouble is over. On a machine
	// that does much else an election alone takes many seconds.
	enough = 3 * time.Minute
)

// work is what programs do together at an ensemble in trouble.
type work struct {
	*testing.T
	*trouble
	seed    uint64
	done    sync.WaitGroup
	during  context.Context // ends with the trouble
	finally context.Context // ends when a call that still waits must give up
	history *History        // for its clock
	seen    []func() bool   // whether each kind of work has brought something to judge
}

// each runs something for every worker, each with a session over a path of its own.
func (k *work) each(kind uint64, timeout time.Duration, do func(i int, w *worker)) {
	for i := range workers {
		w := &worker{work: k, timeout: timeout, rand: rand.New(rand.NewPCG(k.seed, kind<<8+uint64(i)))}
		k.done.Go(func() {
			path, err := relay.New(k.arena().servers...)
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
	path    *relay.Relay
	c       *client.Client
}

// session returns a client, a new one if the session of the last is over.
func (w *worker) session() *client.Client {
	if w.c != nil && w.c.State().State != client.Expired {
		return w.c
	}
	c, err := client.New(w.path.Addr(), client.WithSessionTimeout(w.timeout),
		client.WithConnectTimeout(connectTimeout), client.WithBackoff(time.Millisecond, 50*time.Millisecond))
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
		w.path.LoseAnswer(1 + w.rand.Int64N(5))
	}
}

// judge tells in the end whether something was done right.
type judge func()

// works lets programs do all kinds of work at an ensemble in trouble, until there is something to judge of each, and
// judges each in the end.
func works(t *testing.T, begin func(k *work) []judge) {
	seed := seedOf(t)
	n := startTrouble(t, seed, 1000)
	during, cancel := context.WithCancel(t.Context())
	defer cancel()
	finally, end := context.WithCancel(t.Context())
	defer end()
	k := &work{T: t, trouble: n, seed: seed, during: during, finally: finally, history: NewHistory()}
	judges := begin(k)
	time.Sleep(*duration)
	assert.Eventually(t, func() bool {
		return !slices.ContainsFunc(k.seen, func(seen func() bool) bool { return !seen() })
	}, enough, 10*time.Millisecond, "there is nothing to judge")
	cancel()
	defer time.AfterFunc(enough, end).Stop()
	n.calm()
	k.done.Wait()
	for _, judge := range judges {
		judge()
	}
	t.Logf("faults: %v", n.faults)
	require.NoError(t, n.WaitEqual(finally))
}

// Numbers that are added, numbers that are handed out, items that are queued and rounds of a barrier: what was
// acknowledged has happened, once, and what may have happened at most once.
func TestNothingIsLostOrDoubledOnAnEnsemble(t *testing.T) {
	works(t, func(k *work) []judge { return []judge{k.sums(), k.ids(), k.queue("Queue"), k.rounds()} })
}

// Batches that wait for their turn or their time, a value that all replace, a barrier that falls, and services that
// come and go.
func TestNothingIsEarlyOrOverlookedOnAnEnsemble(t *testing.T) {
	works(t, func(k *work) []judge {
		return []judge{k.queue("PriorityQueue"), k.queue("DelayQueue"), k.values(), k.gate(), k.presence()}
	})
}

// until lets the trouble last until something holds, which mu guards.
func (k *work) until(mu sync.Locker, holds func() bool) {
	k.seen = append(k.seen, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return holds()
	})
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
	k.until(&mu, func() bool { return len(seen) > 0 })
	return func() {
		c := must.Do(client.Dial(k.finally, k.ConnectString()))(k)
		defer c.Close()
		require.NoError(k, c.Sync(k.finally, path))
		sum := must.Do(recipes.NewAtomicLong(c, path).Get(k.finally))(k)
		k.Logf("sum %d: %d acknowledged, %d unknown", sum, len(seen), unknown)
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
	k.until(&mu, func() bool { return len(seen) > 0 })
	return func() { k.Logf("%d ids", len(seen)) }
}

// rounds are begun and ended together, at a double barrier.
func (k *work) rounds() judge {
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
	k.until(&mu, func() bool { return len(rounds) > 1 })
	return func() { k.Logf("%d rounds", len(rounds)) }
}
