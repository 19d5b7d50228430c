package single_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/recipes"
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
			if err != nil {
				t.Errorf("follow: %v", err)
				return
			}
			met <- m
		}
	}()
	require.False(t, (<-met).Exists())
	require.NoError(t, dial(t).CreateAll(within(t), parentOf(root)))
	k.LoseAnswer(1) // that of the create, which is recognised
	h, err := first.Announce(within(t), []byte("a"))
	require.NoError(t, err)
	require.Equal(t, recipes.Meeting{Data: []byte("a"), Token: h.Token()}, <-met)
	_, err = second.Announce(within(t), []byte("a"))
	require.ErrorIs(t, err, recipes.ErrBusy)
	require.NoError(t, h.Release(within(t)))
	require.False(t, (<-met).Exists())
	h, err = second.Announce(within(t), []byte("b"))
	require.NoError(t, err)
	m := do(t, first.Await)
	require.Equal(t, recipes.Meeting{Data: []byte("b"), Token: h.Token()}, m)
	require.Equal(t, m, <-met)
	cancel()
	<-ended
	_, err = first.Await(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, h.Release(within(t)))
}

func parentOf(path string) string { return path[:len(path)-len("/r")] }

func TestRendezvousEndsWithTheAnnouncer(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	h, err := recipes.NewRendezvous(c, root).Announce(within(t), []byte("a"))
	require.NoError(t, err)
	other := recipes.NewRendezvous(dial(t), root)
	end()
	for m, err := range other.Follow(within(t)) {
		require.NoError(t, err)
		if !m.Exists() {
			break
		}
	}
	done(t, h.Context().Done(), "the end of the hold")
	next, err := other.Announce(within(t), []byte("b"))
	require.NoError(t, err)
	require.Greater(t, next.Token(), h.Token())
	require.NoError(t, next.Release(within(t)))
	require.NoError(t, h.Release(within(t)))
}
