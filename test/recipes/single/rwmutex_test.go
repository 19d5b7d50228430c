package single_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// Readers and writers compete while links are cut. A writer is always alone, and some readers are together.
func TestRWMutexExcludes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	root := rootOf(t)
	var readers, writers atomic.Int32
	var all sync.WaitGroup
	for i := range 6 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		k := newLink(t)
		m := recipes.NewRWMutex(dialAt(t, k.Addr()), root)
		all.Go(func() {
			for range 12 {
				lock, inside := m.RLock, &readers
				if r.IntN(3) == 0 {
					lock, inside = m.Lock, &writers
				}
				h, err := lock(within(t))
				if !assert.NoError(t, err, "lock") {
					return
				}
				inside.Add(1)
				if w, n := writers.Load(), readers.Load(); w > 1 || w == 1 && n > 0 {
					t.Errorf("%d writers and %d readers", w, n)
				}
				inside.Add(-1)
				if r.IntN(8) == 0 {
					k.Shut()
					k.Open()
				}
				assert.NoError(t, h.Release(within(t)), "release")
			}
		})
	}
	all.Wait()
	require.Empty(t, names(t, dial(t), root))
}

// A waiting writer holds back later readers; releases wake only waiters that can go on.
func TestRWMutexOrderAndWakeUps(t *testing.T) {
	root, observer := rootOf(t), dial(t)
	var events atomic.Int32
	granted := make(chan string, 8)
	holds := make(chan *recipes.Hold, 8)
	var all sync.WaitGroup
	var clients []*client.Client
	woken := func() int32 {
		for _, c := range clients {
			require.NoError(t, c.Sync(within(t), "/")) // events, and their hooks, come before its answer
		}
		return events.Load()
	}
	start := func(name string, lock func(m *recipes.RWMutex, ctx context.Context) (*recipes.Hold, error), n int) {
		looked := make(chan struct{}, 100) // at the znode to wait for, or at its own: the watch is set
		c := dial(t, client.WithHooks(client.Hooks{Event: func(client.Event) { events.Add(1) },
			End: func(_ context.Context, r client.OpResult) {
				if r.Op == "getData" && r.Err == nil {
					looked <- struct{}{}
				}
			}}))
		clients = append(clients, c)
		m := recipes.NewRWMutex(c, root)
		all.Go(func() {
			h, err := lock(m, within(t))
			assert.NoError(t, err, name)
			granted <- name
			holds <- h
		})
		awaitChildren(t, observer, root, n)
		<-looked
	}
	start("r1", (*recipes.RWMutex).RLock, 1)
	require.Equal(t, "r1", <-granted)
	start("w2", (*recipes.RWMutex).Lock, 2)
	start("r3", (*recipes.RWMutex).RLock, 3)
	start("r4", (*recipes.RWMutex).RLock, 4)
	start("w5", (*recipes.RWMutex).Lock, 5)
	m := recipes.NewRWMutex(observer, root)
	require.ErrorIs(t, must.Err(m.TryRLock(within(t))), recipes.ErrBusy)
	require.Empty(t, granted)
	require.Zero(t, woken())
	require.Len(t, do(t, m.Contenders), 5)

	require.NoError(t, (<-holds).Release(within(t)))
	require.Equal(t, "w2", <-granted)
	require.EqualValues(t, 1, woken(), "the writer was woken")
	require.NoError(t, (<-holds).Release(within(t)))
	require.ElementsMatch(t, []string{"r3", "r4"}, []string{<-granted, <-granted})
	require.EqualValues(t, 3, woken(), "both readers were woken")
	require.NoError(t, (<-holds).Release(within(t)))
	require.Empty(t, granted)
	require.NoError(t, (<-holds).Release(within(t)))
	require.Equal(t, "w5", <-granted)
	require.NoError(t, (<-holds).Release(within(t)))
	all.Wait()
	require.LessOrEqual(t, woken(), int32(5), "the last writer waits for one reader after the other")
}
