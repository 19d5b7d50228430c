package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

// A numbered znode that is created at the root of a chroot is below it, alone and in a transaction, and not beside it.
func TestNumberedBelowChroot(t *testing.T) {
	for _, server := range servers() {
		ctx := within(t, time.Minute)
		require.NoError(t, dial(t, server).CreateAll(ctx, "/numbered"))
		c := dial(t, server+"/numbered")
		alone, err := c.Create(ctx, "/", nil, client.EphemeralSequential)
		require.NoError(t, err)
		together, err := c.Commit(ctx, new(client.Txn).Create("/", nil, client.EphemeralSequential))
		require.NoError(t, err)
		names, _, err := c.Children(ctx, "/")
		require.NoError(t, err)
		require.Len(t, names, 2)
		for _, path := range []string{alone, together[0].Path} {
			require.Contains(t, names, strings.TrimPrefix(path, "/"))
			require.NoError(t, c.Delete(ctx, path, client.AnyVersion))
		}
		require.NoError(t, c.Delete(ctx, "/", client.AnyVersion))
	}
}
