package single_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

func TestBarrierHoldsBackUntilRemoved(t *testing.T) {
	path, observer := rootOf(t), dial(t)
	b := recipes.NewBarrier(observer, path)
	require.NoError(t, b.Set(within(t)))
	require.NoError(t, b.Set(within(t)), "twice")
	var removed atomic.Bool
	var all sync.WaitGroup
	for range 5 {
		k := newLink(t)
		c := dialAt(t, k.Addr())
		all.Go(func() {
			assert.NoError(t, recipes.NewBarrier(c, path).Wait(within(t)))
			assert.True(t, removed.Load(), "passed a barrier")
		})
		k.Shut()
		k.Open()
	}
	must.Do(observer.Set(within(t), path, []byte("changed"), -1))(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, b.Wait(ctx), context.Canceled)
	removed.Store(true)
	require.NoError(t, b.Remove(within(t)))
	all.Wait()
	require.NoError(t, b.Remove(within(t)), "twice")
	require.NoError(t, b.Wait(within(t)))
}

// No client begins a round before all have entered it, and none ends it before all have left, although links are cut.
func TestDoubleBarrierKeepsRoundsTogether(t *testing.T) {
	const size, rounds = 4, 6
	root := rootOf(t)
	var entering, leaving [rounds]atomic.Int32
	var all sync.WaitGroup
	for i := range size {
		k := newLink(t)
		b := recipes.NewDoubleBarrier(dialAt(t, k.Addr()), root, size)
		all.Go(func() {
			for r := range rounds {
				entering[r].Add(1)
				if !assert.NoError(t, b.Enter(within(t)), "enter") {
					return
				}
				assert.EqualValues(t, size, entering[r].Load(), "that begin round %d", r)
				if r == i {
					k.Shut()
					k.Open()
				}
				leaving[r].Add(1)
				if !assert.NoError(t, b.Leave(within(t)), "leave") {
					return
				}
				assert.EqualValues(t, size, leaving[r].Load(), "that end round %d", r)
			}
		})
	}
	all.Wait()
	require.Empty(t, names(t, dial(t), root))
}

func TestDoubleBarrierLeavesWithoutTheDead(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	alive, dead := recipes.NewDoubleBarrier(dial(t), root, 2), recipes.NewDoubleBarrier(c, root, 2)
	entered := make(chan error)
	go func() { entered <- dead.Enter(within(t)) }()
	require.NoError(t, alive.Enter(within(t)))
	require.NoError(t, <-entered)
	require.True(t, do(t, dead.Inside))
	left := make(chan error)
	go func() { left <- alive.Leave(within(t)) }()
	end()
	require.NoError(t, <-left)
	require.ErrorIs(t, dead.Leave(within(t)), client.ErrSessionExpired)
}

// A process that is enough for the barrier together with one that came later leaves ready to that one. It neither
// creates ready as well, nor enters when its session ends before.
func TestDoubleBarrierWaitsForTheLastToCome(t *testing.T) {
	// enter calls meanwhile after the process has counted both, and before it waits.
	enter := func(t *testing.T, meanwhile func(c, observer *client.Client, resume client.Resume)) (int32, error) {
		root, observer, resume := rootOf(t), dial(t), dial(t).Detach()
		require.NoError(t, observer.CreateAll(within(t), root))
		var c *client.Client
		var other, once sync.Once
		var creates atomic.Int32
		c = dial(t, client.WithResume(resume), client.WithRenewal(nil), client.WithHooks(client.Hooks{
			Start: func(ctx context.Context, op, path string) context.Context {
				switch {
				case op == "exists" && path == root:
					other.Do(func() {
						awaitChildren(t, observer, root, 1)
						must.Do(observer.Create(within(t), root+"/~other", nil, client.Ephemeral))(t)
					})
				case op == "create2" && path == root+"/ready":
					creates.Add(1)
				}
				return ctx
			},
			End: func(_ context.Context, r client.OpResult) {
				if r.Op == "exists" && r.Path == root+"/ready" {
					once.Do(func() { meanwhile(c, observer, resume) })
				}
			},
		}))
		err := recipes.NewDoubleBarrier(c, root, 2).Enter(within(t))
		return creates.Load(), err
	}
	t.Run("which creates ready", func(t *testing.T) {
		creates, err := enter(t, func(c, observer *client.Client, _ client.Resume) {
			must.Do(observer.Create(within(t), rootOf(t)+"/ready", nil, client.Persistent))(t)
			require.NoError(t, c.Sync(within(t), "/")) // the event has come
		})
		require.NoError(t, err)
		require.Zero(t, creates)
	})
	t.Run("and the session expires", func(t *testing.T) {
		creates, err := enter(t, func(c, _ *client.Client, resume client.Resume) {
			for id := resume.SessionID; id == resume.SessionID; id, _ = c.Session() {
				if other, err := client.Dial(within(t), address, client.WithResume(resume)); err == nil {
					_ = other.Close()
				}
			}
		})
		require.ErrorIs(t, err, client.ErrSessionExpired)
		require.Zero(t, creates)
	})
}

func TestDoubleBarrierEnterGivesUpWithItsContext(t *testing.T) {
	root, observer := rootOf(t), dial(t)
	b := recipes.NewDoubleBarrier(dial(t), root, 2)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() { failed <- b.Enter(ctx) }()
	awaitChildren(t, observer, root, 1)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	awaitChildren(t, observer, root, 0)
	require.Panics(t, func() { recipes.NewDoubleBarrier(observer, root, 0) })
}
