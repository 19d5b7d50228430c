package single_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

// Sessions compete while their links are cut and answers are lost, those of a deletion among them: what the next one
// holds by then is left alone.
func TestSimpleMutexExcludesAndTokensGrow(t *testing.T) {
	root := rootOf(t)
	contend(t, 5, 8, 1, func(c *client.Client) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewSimpleMutex(c, root).Lock
	}, func(k *relay.Relay, i, round int, h *recipes.Hold) {
		assert.NoError(t, context.Cause(h.Context()), "granted and over")
		switch round % 4 {
		case i % 4:
			k.Shut()
			k.Open()
		case (i + 1) % 4:
			k.LoseAnswer(int64(1 + round%2)) // of the look or of the deletion
		}
	})
	_, isHeld := must.Do2(recipes.NewSimpleMutex(dial(t), root).Holder(within(t)))(t)
	require.False(t, isHeld)
}

// The deletion is done, its answer is lost, and the next one has the lock when the connection is back.
func TestReleaseLeavesTheNextHolderAlone(t *testing.T) {
	k, root := newLink(t), rootOf(t)
	h := do(t, recipes.NewSimpleMutex(dialAt(t, k.Addr()), root).Lock)
	granted := make(chan *recipes.Hold)
	next := newContestant(t)
	go func() { granted <- attempt(t, recipes.NewSimpleMutex(next.c, root).Lock) }()
	<-next.looked
	k.LoseAnswer(2) // the first is that of the look
	released := make(chan error)
	go func() { released <- h.Release(within(t)) }()
	second := <-granted
	require.NoError(t, <-released)
	require.NoError(t, second.Context().Err())
	holder, isHeld := must.Do2(recipes.NewSimpleMutex(dial(t), root).Holder(within(t)))(t)
	require.True(t, isHeld)
	require.Equal(t, second.Token(), holder.Token)
	require.NoError(t, second.Release(within(t)))
}

// Another client deletes the znode and takes its place before the holder has looked.
func TestClaimEndsWhenAnotherTakesItsPlace(t *testing.T) {
	root, other := rootOf(t), dial(t)
	h := do(t, recipes.NewSimpleMutex(dial(t), root).Lock)
	must.Do(other.Commit(within(t), new(client.Txn).Delete(root, -1).Create(root, nil, client.Ephemeral)))(t)
	done(t, h.Context().Done(), "the end of the hold")
	require.ErrorIs(t, context.Cause(h.Context()), recipes.ErrLost)
	require.NoError(t, h.Release(within(t)))
	_, exists := must.Do2(other.Exists(within(t), root))(t)
	require.True(t, exists, "the znode is another's")
}

func TestSimpleMutexEndsWithItsSession(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	h := do(t, recipes.NewSimpleMutex(c, root).Lock)
	waiting := newContestant(t)
	granted := make(chan *recipes.Hold)
	go func() { granted <- attempt(t, recipes.NewSimpleMutex(waiting.c, root).Lock) }()
	<-waiting.looked
	end()
	next := <-granted
	done(t, h.Context().Done(), "the end of the first hold")
	require.Greater(t, next.Token(), h.Token())
	require.NoError(t, h.Release(within(t)), "gone already")
	require.NoError(t, next.Context().Err())
	require.NoError(t, next.Release(within(t)))
}

func TestSimpleMutexGivesUpWithItsContext(t *testing.T) {
	root := rootOf(t)
	h := do(t, recipes.NewSimpleMutex(dial(t), root).Lock)
	waiting := newContestant(t)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() { failed <- must.Err(recipes.NewSimpleMutex(waiting.c, root).Lock(ctx)) }()
	<-waiting.looked
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, h.Release(ended), context.Canceled)
	_, err := recipes.NewSimpleMutex(waiting.c, root).Lock(within(t)) // deleted in the background
	require.NoError(t, err)
}
