package single_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// Answers are lost while blocks are reserved: there are gaps, and no number twice.
func TestIDsAreUnique(t *testing.T) {
	root := rootOf(t)
	var mu sync.Mutex
	seen := map[int64]bool{}
	var all sync.WaitGroup
	for i := range 4 {
		k := newLink(t)
		ids := recipes.NewIDs(dialAt(t, k.Addr()), root, 1+i)
		for range 2 {
			all.Go(func() {
				var last int64
				for n := range 20 {
					if n%7 == 3 {
						k.LoseAnswer(2) // the first is that of the read
					}
					id, err := ids.Next(within(t))
					if err != nil || id <= last {
						t.Errorf("%d after %d: %v", id, last, err)
						return
					}
					last = id
					mu.Lock()
					assert.False(t, seen[id], "%d twice", id)
					seen[id] = true
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	require.Len(t, seen, 160)
	end := do(t, recipes.NewAtomicLong(dial(t), root).Get)
	for id := range seen {
		require.LessOrEqual(t, id, end)
	}
}

// A call does not wait longer than its context allows for another call that waits for a server.
func TestIDsWaitOnlyAsLongAsTheContext(t *testing.T) {
	k, asked := newLink(t), make(chan struct{}, 1)
	c := dialAt(t, k.Addr(), client.WithHooks(client.Hooks{
		Start: func(ctx context.Context, _, _ string) context.Context {
			select {
			case asked <- struct{}{}:
			default:
			}
			return ctx
		}}))
	ids := recipes.NewIDs(c, rootOf(t), 1)
	k.Stop()
	defer k.Go()
	ctx, cancel := context.WithTimeout(within(t), 10*time.Second)
	defer cancel()
	first := make(chan error, 1)
	go func() { first <- must.Err(ids.Next(ctx)) }()
	<-asked
	hasty, giveUp := context.WithTimeout(ctx, 20*time.Millisecond)
	defer giveUp()
	require.ErrorIs(t, must.Err(ids.Next(hasty)), context.DeadlineExceeded)
	require.NoError(t, ctx.Err(), "the second call has waited for the first")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
}

func TestIDsEnd(t *testing.T) {
	root, c := rootOf(t), dial(t)
	require.NoError(t, recipes.NewAtomicLong(c, root).Set(within(t), math.MaxInt64-1))
	ids := recipes.NewIDs(c, root, 1)
	require.EqualValues(t, math.MaxInt64, do(t, ids.Next))
	require.ErrorIs(t, must.Err(ids.Next(within(t))), recipes.ErrOverflow)
	require.Panics(t, func() { recipes.NewIDs(c, root, 0) })
}

func TestNames(t *testing.T) {
	root, c := rootOf(t), dial(t)
	n := recipes.NewNames(c, root)
	list := do(t, n.List)
	require.Empty(t, list)
	require.ErrorIs(t, must.Err(n.Lookup(within(t), "a")), client.ErrNoNode)
	require.NoError(t, n.Bind(within(t), "b", []byte("2")))
	require.NoError(t, n.Bind(within(t), "a", []byte("1")))
	require.NoError(t, n.Bind(within(t), "a", []byte("1")), "the same again")
	require.ErrorIs(t, n.Bind(within(t), "a", []byte("2")), recipes.ErrBusy)
	require.Equal(t, []string{"a", "b"}, do(t, n.List))
	var meanings []string
	for v, err := range n.Follow(within(t), "a") {
		require.NoError(t, err)
		meanings = append(meanings, fmt.Sprintf("%v %s", v.Exists, v.Data))
		switch len(meanings) {
		case 1:
			require.NoError(t, n.Rebind(within(t), "a", []byte("3")))
		case 2:
			require.NoError(t, n.Unbind(within(t), "a"))
			require.NoError(t, n.Unbind(within(t), "a"), "free already")
		}
		if len(meanings) == 3 {
			break
		}
	}
	require.Equal(t, []string{"true 1", "true 3", "false "}, meanings)
	for _, name := range []string{"", "a/b"} {
		require.ErrorIs(t, n.Bind(within(t), name, nil), client.ErrBadArguments)
		require.ErrorIs(t, n.Rebind(within(t), name, nil), client.ErrBadArguments)
		require.ErrorIs(t, n.Unbind(within(t), name), client.ErrBadArguments)
		require.ErrorIs(t, must.Err(n.Lookup(within(t), name)), client.ErrBadArguments)
	}
}

// Many want the same name: one gets it, whatever happens to their connections.
func TestNamesAreBoundOnce(t *testing.T) {
	root := rootOf(t)
	var all sync.WaitGroup
	bound := make([]error, 6)
	for i := range bound {
		k := newLink(t)
		n := recipes.NewNames(dialAt(t, k.Addr()), root)
		k.LoseAnswer(int64(1 + i%3))
		all.Go(func() { bound[i] = n.Bind(within(t), "x", fmt.Append(nil, i)) })
	}
	all.Wait()
	winner := must.Do(recipes.NewNames(dial(t), root).Lookup(within(t), "x"))(t)
	require.Equal(t, 1,
		len(bound)-len(slices.DeleteFunc(slices.Clone(bound), func(err error) bool { return err == nil })))
	for i, err := range bound {
		if fmt.Sprint(i) != string(winner) {
			require.ErrorIs(t, err, recipes.ErrBusy)
		}
	}
}
