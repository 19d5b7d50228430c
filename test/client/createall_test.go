package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

// A znode that exists is no error, even below a parent where the client may create nothing: servers look at the
// permission first.
func TestCreateAllBelowAClosedParent(t *testing.T) {
	for _, server := range servers() {
		ctx, c := within(t, time.Minute), dial(t, server)
		require.NoError(t, c.CreateAll(ctx, "/closed/open"))
		_, err := c.SetACL(ctx, "/closed", client.ReadACL(), client.AnyVersion)
		require.NoError(t, err)
		require.NoError(t, c.CreateAll(ctx, "/closed/open"))
		require.NoError(t, c.CreateAll(ctx, "/closed/open/a/b"))
		require.ErrorIs(t, c.CreateAll(ctx, "/closed/none"), client.ErrNoAuth)
		require.ErrorIs(t, c.CreateAll(ctx, "/closed/none/a"), client.ErrNoAuth)
		require.NoError(t, c.DeleteSurely(ctx, "/closed/open/a/b"))
	}
}
