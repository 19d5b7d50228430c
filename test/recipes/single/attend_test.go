package single_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
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
	locked, err := recipes.NewMutex(c, root+"/line", recipes.UntilExpiry()).Lock(within(t))
	require.NoError(t, err)
	claimed, err := recipes.NewSimpleMutex(c, root+"/claim", recipes.UntilExpiry()).Lock(within(t))
	require.NoError(t, err)
	isSlow.Store(true)
	for _, h := range []*recipes.Hold{locked, claimed} {
		require.NoError(t, other.Delete(within(t), h.Path(), client.AnyVersion))
		done(t, h.Context().Done(), "the end of "+h.Path())
		require.ErrorIs(t, context.Cause(h.Context()), recipes.ErrLost)
	}
}
