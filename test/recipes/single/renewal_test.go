package single_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// What follows a recipe goes on under the next session, if there is one.
func TestFollowersSurviveExpiryWithRenewalOnly(t *testing.T) {
	observer := dial(t)
	for name, run := range map[string]func(t *testing.T, options ...client.Option) error{
		"Group": func(t *testing.T, options ...client.Option) error {
			path := rootOf(t) + fmt.Sprint("/", len(options))
			join := func(name string) {
				must.Do(recipes.NewGroup(observer, path).Join(within(t), name, nil))(t)
			}
			join("a")
			c, end := expire(t, options...)
			return followed(within(t), recipes.NewGroup(c, path).Follow, end, func() { join("b") })
		},
		"Bundle": func(t *testing.T, options ...client.Option) error {
			path := rootOf(t) + fmt.Sprint("/", len(options))
			publish := func() {
				require.NoError(t, recipes.NewBundle(observer, path).Publish(within(t), map[string][]byte{"a": nil}))
			}
			publish()
			c, end := expire(t, options...)
			return followed(within(t), recipes.NewBundle(c, path).Follow, end, publish)
		},
		"Election": func(t *testing.T, options ...client.Option) error {
			path := rootOf(t) + fmt.Sprint("/", len(options))
			c, end := expire(t, options...)
			return followed(within(t), recipes.NewLatch(c, path, "").Observe, end, func() {
				do(t, recipes.NewLatch(observer, path, "1").Campaign)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, run(t, client.WithRenewal(nil)))
			require.ErrorIs(t, run(t), client.ErrSessionExpired)
		})
	}
}

// So does a wait that has no ephemeral.
func TestWaitsSurviveExpiryWithRenewalOnly(t *testing.T) {
	observer := dial(t)
	for name, recipe := range map[string]struct {
		prepare, finish func(ctx context.Context, path string) error
		wait            func(ctx context.Context, c *client.Client, path string) error
		watched         string // below the path
	}{
		"Barrier": {
			prepare: func(ctx context.Context, path string) error {
				return recipes.NewBarrier(observer, path).Set(ctx)
			},
			finish: func(ctx context.Context, path string) error {
				return recipes.NewBarrier(observer, path).Remove(ctx)
			},
			wait: func(ctx context.Context, c *client.Client, path string) error {
				return recipes.NewBarrier(c, path).Wait(ctx)
			},
		},
		"Queue": {
			finish: func(ctx context.Context, path string) error {
				return recipes.NewQueue(observer, path+"/items", path+"/locks").Put(ctx, nil)
			},
			wait: func(ctx context.Context, c *client.Client, path string) error {
				return must.Err(recipes.NewQueue(c, path+"/items", path+"/locks").Take(ctx))
			},
			watched: "/items",
		},
		"Bundle": {
			finish: func(ctx context.Context, path string) error {
				return recipes.NewBundle(observer, path).Publish(ctx, map[string][]byte{"a": nil})
			},
			wait: func(ctx context.Context, c *client.Client, path string) error {
				return must.Err(recipes.NewBundle(c, path).Read(ctx))
			},
			watched: "/ready",
		},
		"TwoPhaseCommit": {
			prepare: func(ctx context.Context, path string) error {
				return recipes.NewTwoPhaseCommit(observer, path).Begin(ctx, nil, "a")
			},
			finish: func(ctx context.Context, path string) error {
				return must.Err(recipes.NewTwoPhaseCommit(observer, path).Decide(ctx))
			},
			wait: func(ctx context.Context, c *client.Client, path string) error {
				return must.Err(recipes.NewTwoPhaseCommit(c, path).Outcome(ctx))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(options ...client.Option) error {
				ctx, path := within(t), rootOf(t)+fmt.Sprint("/", len(options))
				if recipe.prepare != nil {
					require.NoError(t, recipe.prepare(ctx, path))
				}
				c, end := expire(t, options...)
				ended := make(chan error, 1)
				go func() { ended <- recipe.wait(ctx, c, path) }()
				for waits := false; !waits; {
					waits = must.Do(c.HasWatch(ctx, path+recipe.watched, client.WatcherAny))(t)
				}
				end()
				require.NoError(t, recipe.finish(ctx, path))
				return <-ended
			}
			require.NoError(t, run(client.WithRenewal(nil)))
			require.ErrorIs(t, run(), client.ErrSessionExpired)
		})
	}
}

// followed ends the session of what follows after the first value, then makes another value, and waits for that.
func followed[T any](
	ctx context.Context, follow func(context.Context) iter.Seq2[T, error], end, change func(),
) error {
	n := 0
	for _, err := range follow(ctx) {
		if err != nil || n > 0 {
			return err
		}
		n++
		end()
		change()
	}
	return ctx.Err()
}
