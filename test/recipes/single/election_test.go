package single_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// Candidates lead in turns while their links are cut: never two at a time, and tokens grow.
func TestElectionHasOneLeader(t *testing.T) {
	root := rootOf(t)
	errDone := errors.New("term is over")
	var leading atomic.Int32
	var last atomic.Int64
	var all sync.WaitGroup
	for i := range 5 {
		k := newLink(t)
		e := recipes.NewLatch(dialAt(t, k.Addr()), root, fmt.Sprint("n", i))
		all.Go(func() {
			lost := false
			for range 4 {
				err := e.Run(within(t), func(ctx context.Context, token client.Zxid) error {
					assert.EqualValues(t, 1, leading.Add(1), "leaders")
					assert.Less(t, last.Swap(int64(token)), int64(token), "tokens grow")
					leading.Add(-1)
					if !lost {
						lost = true
						k.Shut()
						k.Open()
						<-ctx.Done()
						return ctx.Err()
					}
					return errDone
				})
				assert.ErrorIs(t, err, errDone)
			}
		})
	}
	all.Wait()
	require.Empty(t, names(t, dial(t), root))
}

func TestElectionLayoutsAreCurators(t *testing.T) {
	c := dial(t)
	for marker, make := range map[string]func(*client.Client, string, string, ...recipes.Option) *recipes.Election{
		"latch-": recipes.NewLatch, "lock-": recipes.NewSelector,
	} {
		root := rootOf(t) + marker
		e := make(c, root, "host/7")
		h := do(t, e.Campaign)
		require.Regexp(t, `^`+root+`/_c_[0-9a-f-]{36}-`+marker+`\d{10}$`, h.Path())
		participants := do(t, e.Participants)
		require.Equal(t, []recipes.Contender{{Path: h.Path(), Data: []byte("host/7"), Token: h.Token()}}, participants)
		require.Equal(t, recipes.Leader{ID: "host/7", Path: h.Path(), Token: h.Token()}, do(t, e.Leader))
		require.NoError(t, h.Release(within(t)))
	}
}

func TestObserveSeesEveryChangeOfLeaderAndNothingElse(t *testing.T) {
	root := rootOf(t)
	var events atomic.Int32
	observer := dial(t, client.WithHooks(client.Hooks{Event: func(client.Event) { events.Add(1) }}))
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	seen := make(chan recipes.Leader)
	var all sync.WaitGroup
	all.Go(func() {
		for leader, err := range recipes.NewLatch(observer, root, "").Observe(ctx) {
			assert.NoError(t, err, "observe")
			seen <- leader
		}
	})
	require.False(t, (<-seen).Exists())
	c := dial(t)
	first := do(t, recipes.NewLatch(c, root, "a").Campaign)
	require.Equal(t, recipes.Leader{ID: "a", Path: first.Path(), Token: first.Token()}, <-seen)
	before := events.Load()
	second := make(chan *recipes.Hold, 2)
	for i, id := range []string{"b", "c"} {
		all.Go(func() {
			second <- attempt(t, recipes.NewLatch(c, root, id).Campaign)
		})
		awaitChildren(t, c, root, i+2)
	}
	require.NoError(t, observer.Sync(within(t), root))
	require.Equal(t, before, events.Load(), "candidates do not wake observers")
	require.NoError(t, first.Release(within(t)))
	require.Equal(t, "b", (<-seen).ID)
	require.NoError(t, observer.Sync(within(t), root))
	require.Equal(t, before+1, events.Load())
	require.NoError(t, (<-second).Release(within(t)))
	require.Equal(t, "c", (<-seen).ID)
	require.NoError(t, (<-second).Release(within(t)))
	require.False(t, (<-seen).Exists())
	cancel()
	all.Wait()
}

func TestRunStopsWithItsContextAndWithItsSession(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	ctx, cancel := context.WithCancel(within(t))
	err := recipes.NewLatch(c, root, "a").Run(ctx, func(ctx context.Context, _ client.Zxid) error {
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	require.ErrorIs(t, err, context.Canceled)
	awaitChildren(t, dial(t), root, 0) // leadership is given up in the background, because ctx has ended
	err = recipes.NewLatch(c, root, "a").Run(within(t), func(ctx context.Context, _ client.Zxid) error {
		end()
		<-ctx.Done()
		return nil
	})
	require.ErrorIs(t, err, client.ErrSessionExpired)
}

func TestRunGoesOnWithARenewedSession(t *testing.T) {
	c, end := expire(t, client.WithRenewal(nil))
	var tokens []client.Zxid
	err := recipes.NewLatch(c, rootOf(t), "a").Run(within(t), func(ctx context.Context, token client.Zxid) error {
		tokens = append(tokens, token)
		if len(tokens) == 1 {
			end()
			<-ctx.Done()
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, tokens, 2)
	require.Greater(t, tokens[1], tokens[0])
}

// While the servers are restarted one after the other, the leader loses its connection, and with that its leadership.
// A leader that may trust its session leads on.
func TestLeaderWhileServersAreRestarted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []recipes.Option
		leadsOn bool
	}{{"strict", nil, false}, {"until expiry", []recipes.Option{recipes.UntilExpiry()}, true}} {
		t.Run(tt.name, func(t *testing.T) {
			e := embed.Start(t, embed.Options{Servers: 3})
			ctx := within(t)
			c := dialAt(t, e.ConnectString(), client.WithSessionTimeout(30*time.Second))
			hold := must.Do(recipes.NewLatch(c, "/election", "first", tt.options...).Campaign(ctx))(t)
			for _, id := range e.IDs() {
				require.NoError(t, e.Restart(id))
				require.NoError(t, e.WaitServing(ctx))
				require.NoError(t, client.Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }))
			}
			if tt.leadsOn {
				require.NoError(t, hold.Context().Err())
			} else {
				require.ErrorIs(t, context.Cause(hold.Context()), client.ErrConnectionLoss)
			}
			require.NoError(t, hold.Release(ctx))
		})
	}
}
