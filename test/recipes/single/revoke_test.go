package single_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/recipes"
)

// A request that comes before the grant is heard by the holder, and one that comes while the link is cut when it is
// back.
func TestRevocationIsNotMissed(t *testing.T) {
	root, other, k := rootOf(t), dial(t), newLink(t)
	first := do(t, recipes.NewMutex(other, root).Lock)
	c := dialAt(t, k.Addr())
	granted := make(chan *recipes.Hold)
	lock := func() {
		granted <- attempt(t, recipes.NewMutex(c, root, recipes.UntilExpiry()).Lock)
	}
	go lock()
	awaitChildren(t, other, root, 2)
	contenders := do(t, recipes.NewMutex(other, root).Contenders)
	require.NoError(t, recipes.Revoke(within(t), other, contenders[1].Path))
	require.NoError(t, first.Release(within(t)))
	h := <-granted
	done(t, h.Revoked(), "the request that came early")
	require.NoError(t, h.Release(within(t)))

	go lock()
	h = <-granted
	k.Shut()
	require.NoError(t, recipes.Revoke(within(t), other, h.Path()))
	k.Open()
	done(t, h.Revoked(), "the request that came while the link was cut")
	require.NoError(t, h.Context().Err())
	require.NoError(t, h.Release(within(t)))
}
