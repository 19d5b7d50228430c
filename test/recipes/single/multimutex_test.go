package single_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// Dining philosophers: each needs two of five forks, and names them in any order.
func TestMultiMutexDoesNotDeadlock(t *testing.T) {
	const n = 5
	root := rootOf(t)
	var forks [n]atomic.Int32
	var all sync.WaitGroup
	for i := range n {
		k := newLink(t)
		c := dialAt(t, k.Addr())
		pair := []int{i, (i + 1) % n}
		m := recipes.NewMultiMutex(c, []string{fmt.Sprint(root, "/", pair[0]), fmt.Sprint(root, "/", pair[1])})
		all.Go(func() {
			for round := range 6 {
				h, err := m.Lock(within(t))
				if err != nil {
					// the first lock was lost while it waited for the second
					if errors.Is(err, client.ErrConnectionLoss) {
						continue
					}
					t.Errorf("lock: %v", err)
					return
				}
				for _, f := range pair {
					assert.EqualValues(t, 1, forks[f].Add(1), "holders of fork %d", f)
				}
				for _, f := range pair {
					forks[f].Add(-1)
				}
				if round == i {
					k.Shut()
					k.Open()
				}
				assert.NoError(t, h.Release(within(t)), "release")
			}
		})
	}
	all.Wait()
	observer := dial(t)
	for i := range n {
		require.Empty(t, names(t, observer, fmt.Sprint(root, "/", i)))
	}
}

func TestMultiMutexHoldsAllOrNone(t *testing.T) {
	root, c := rootOf(t), dial(t)
	m := recipes.NewMultiMutex(c, []string{root + "/b", root + "/a", root + "/b"})
	b := do(t, recipes.NewMutex(c, root+"/b").Lock)
	require.ErrorIs(t, must.Err(m.TryLock(within(t))), recipes.ErrBusy)
	require.Empty(t, names(t, c, root+"/a"))
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() { failed <- must.Err(m.Lock(ctx)) }()
	awaitChildren(t, c, root+"/a", 1)
	awaitChildren(t, c, root+"/b", 2)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	awaitChildren(t, c, root+"/a", 0)
	awaitChildren(t, c, root+"/b", 1)
	require.NoError(t, b.Release(within(t)))

	h := do(t, m.Lock)
	require.Zero(t, h.Token(root))
	require.Positive(t, h.Token(root+"/a"))
	require.Greater(t, h.Token(root+"/b"), h.Token(root+"/a"))
	require.NoError(t, c.Delete(within(t), root+"/b/"+names(t, c, root+"/b")[0], -1))
	done(t, h.Context().Done(), "the end of the hold")
	require.ErrorIs(t, context.Cause(h.Context()), recipes.ErrLost)
	require.NoError(t, h.Release(within(t)))
	require.Empty(t, names(t, c, root+"/a"))
	require.Panics(t, func() { recipes.NewMultiMutex(c, nil) })
}

func TestMultiMutexEndsWithItsSession(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	h := do(t, recipes.NewMultiMutex(c, []string{root + "/a", root + "/b"}).Lock)
	end()
	done(t, h.Context().Done(), "the end of the hold")
	next := do(t, recipes.NewMultiMutex(dial(t), []string{root + "/b"}).Lock)
	require.Greater(t, next.Token(root+"/b"), h.Token(root+"/b"))
	require.NoError(t, next.Release(within(t)))
	require.NoError(t, h.Release(within(t)))
}
