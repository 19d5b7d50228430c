package single_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
)

// The event of the deletion of its znode ends a hold: another participant may have been granted by now, and the
// holder's next answer may take long.
func TestDeletionEndsTheHoldAtOnce(t *testing.T) {
	var isSlow atomic.Bool
	release := make(chan struct{})
	c := dial(t, client.WithHooks(client.Hooks{Start: func(ctx context.Context, op, _ string) context.Context {
		if isSlow.Load() && op == "getData" {
			<-release
		}
		return ctx
	}}))
	defer close(release)
	root, other := rootOf(t), dial(t)
	locked := do(t, recipes.NewMutex(c, root+"/line", recipes.UntilExpiry()).Lock)
	claimed := do(t, recipes.NewSimpleMutex(c, root+"/claim", recipes.UntilExpiry()).Lock)
	isSlow.Store(true)
	for _, h := range []*recipes.Hold{locked, claimed} {
		require.NoError(t, other.Delete(within(t), h.Path(), client.AnyVersion))
		done(t, h.Context().Done(), "the end of "+h.Path())
		require.ErrorIs(t, context.Cause(h.Context()), recipes.ErrLost)
	}
}

// A server that lets the connection have no more watches is not asked again and again without a pause.
func TestLockOnAServerWithoutRoomForItsWatch(t *testing.T) {
	const most = 50 // with pauses that grow to a second on average it is ten
	var asked atomic.Int32
	var tooOften context.CancelFunc
	hooks := client.WithHooks(client.Hooks{End: func(_ context.Context, r client.OpResult) {
		if errors.Is(r.Err, client.ErrThrottled) && asked.Add(1) >= most {
			tooOften()
		}
	}})
	ctx, cancel := context.WithTimeout(within(t), time.Second)
	tooOften = cancel
	defer cancel()
	e := embed.Start(t, embed.Options{Configure: func(_ int, c *config.Config) { c.MaxWatches = 1 }})
	c := dialAt(t, e.Addr(1), hooks)
	_, _, w, err := c.GetW(within(t), "/")
	require.NoError(t, err)
	defer w.Close()
	_, err = recipes.NewMutex(c, "/lock").Lock(ctx)
	require.ErrorIs(t, err, client.ErrThrottled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Positive(t, asked.Load())
	require.Less(t, asked.Load(), int32(most))
	require.Eventually(t, func() bool {
		left, _, err := c.Children(within(t), "/lock")
		return err == nil && len(left) == 0
	}, time.Minute, time.Millisecond, "the place in the line is left in the background")
}
