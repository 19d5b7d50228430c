package single_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

func TestRendezvous(t *testing.T) {
	root := rootOf(t)
	k := newLink(t)
	first, second := recipes.NewRendezvous(dialAt(t, k.Addr()), root), recipes.NewRendezvous(dial(t), root)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	met := make(chan recipes.Meeting)
	ended := make(chan struct{})
	follower := recipes.NewRendezvous(dial(t), root)
	go func() {
		defer close(ended)
		for m, err := range follower.Follow(ctx) {
			if !assert.NoError(t, err, "follow") {
				return
			}
			met <- m
		}
	}()
	require.False(t, (<-met).Exists())
	require.NoError(t, dial(t).CreateAll(within(t), parentOf(root)))
	k.LoseAnswer(1) // that of the create, which is recognised
	h := must.Do(first.Announce(within(t), []byte("a")))(t)
	require.Equal(t, recipes.Meeting{Data: []byte("a"), Token: h.Token()}, <-met)
	require.ErrorIs(t, must.Err(second.Announce(within(t), []byte("a"))), recipes.ErrBusy)
	require.NoError(t, h.Release(within(t)))
	require.False(t, (<-met).Exists())
	h = must.Do(second.Announce(within(t), []byte("b")))(t)
	m := do(t, first.Await)
	require.Equal(t, recipes.Meeting{Data: []byte("b"), Token: h.Token()}, m)
	require.Equal(t, m, <-met)
	cancel()
	<-ended
	require.ErrorIs(t, must.Err(first.Await(ctx)), context.Canceled)
	require.NoError(t, h.Release(within(t)))
}

func parentOf(path string) string { return path[:len(path)-len("/r")] }

func TestRendezvousEndsWithTheAnnouncer(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	h := must.Do(recipes.NewRendezvous(c, root).Announce(within(t), []byte("a")))(t)
	other := recipes.NewRendezvous(dial(t), root)
	end()
	for m, err := range other.Follow(within(t)) {
		require.NoError(t, err)
		if !m.Exists() {
			break
		}
	}
	done(t, h.Context().Done(), "the end of the hold")
	next := must.Do(other.Announce(within(t), []byte("b")))(t)
	require.Greater(t, next.Token(), h.Token())
	require.NoError(t, next.Release(within(t)))
	require.NoError(t, h.Release(within(t)))
}
