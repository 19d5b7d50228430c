package single_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func TestSemaphoreAdmitsItsLimitAndNoMore(t *testing.T) {
	const limit = 3
	root := rootOf(t)
	most := contend(t, 8, 6, limit, func(c *client.Client) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewSemaphore(c, root, limit).Acquire
	}, cutOnce)
	t.Logf("at most %d at a time", most)
	c := dial(t)
	require.Empty(t, names(t, c, root+"/leases"))
	require.Empty(t, names(t, c, root+"/locks"))
}

func TestSemaphoreReleaseWakesOne(t *testing.T) {
	const limit, n = 2, 12
	root, observer := rootOf(t), dial(t)
	var events atomic.Int32
	hooks := client.WithHooks(client.Hooks{Event: func(client.Event) { events.Add(1) }})
	first := recipes.NewSemaphore(dial(t), root, limit)
	holds := make(chan *recipes.Hold, n+limit)
	for range limit {
		h := do(t, first.Acquire)
		holds <- h
	}
	var all sync.WaitGroup
	for i := range n {
		s := recipes.NewSemaphore(dial(t, hooks), root, limit)
		all.Go(func() {
			holds <- attempt(t, s.Acquire)
		})
		awaitChildren(t, observer, root+"/locks", i+1)
	}
	awaitChildren(t, observer, root+"/leases", limit+1)
	for range n + limit {
		require.NoError(t, (<-holds).Release(within(t)))
	}
	all.Wait()
	// One for the lease that went away and, except for the first, one for the turn that came.
	require.LessOrEqual(t, events.Load(), int32(2*n))
}

func TestSemaphorePermitEndsWithItsSession(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	h := do(t, recipes.NewSemaphore(c, root, 1, recipes.WithData([]byte("me"))).Acquire)
	s := recipes.NewSemaphore(dial(t), root, 1)
	require.Equal(t, []recipes.Contender{{Path: h.Path(), Data: []byte("me"), Token: h.Token()}}, do(t, s.Holders))
	end()
	next := do(t, s.Acquire)
	require.Greater(t, next.Token(), h.Token())
	done(t, h.Context().Done(), "the end of the first hold")
	require.NoError(t, next.Release(within(t)))
}

func TestSemaphoreGivesUpWithItsContext(t *testing.T) {
	root, c := rootOf(t), dial(t)
	s := recipes.NewSemaphore(c, root, 1)
	h := do(t, s.Acquire)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- must.Err(s.Acquire(ctx)) }()
	awaitChildren(t, c, root+"/leases", 2)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	awaitChildren(t, c, root+"/leases", 1)
	awaitChildren(t, c, root+"/locks", 0)
	require.NoError(t, h.Release(within(t)))
	require.Panics(t, func() { recipes.NewSemaphore(c, root, 0) })
}
