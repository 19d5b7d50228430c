package single_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// What follows a recipe goes on under the next session, if there is one.
func TestFollowersSurviveExpiryWithRenewalOnly(t *testing.T) {
	observer := dial(t)
	for name, run := range map[string]func(t *testing.T, options ...client.Option) error{
		"Group": func(t *testing.T, options ...client.Option) error {
			path := rootOf(t) + fmt.Sprint("/", len(options))
			join := func(name string) {
				_, err := recipes.NewGroup(observer, path).Join(within(t), name, nil)
				require.NoError(t, err)
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
