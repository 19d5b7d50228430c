package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
)

// A numbered znode that is created at the root of a chroot is below it, alone and in a transaction, and not beside it.
func TestNumberedBelowChroot(t *testing.T) {
	for _, server := range servers() {
		ctx := within(t, time.Minute)
		require.NoError(t, dial(t, server).CreateAll(ctx, "/numbered"))
		c := dial(t, server+"/numbered")
		alone := must.Do(c.Create(ctx, "/", nil, client.EphemeralSequential))(t)
		together := must.Do(c.Commit(ctx, new(client.Txn).Create("/", nil, client.EphemeralSequential)))(t)
		names, _ := must.Do2(c.Children(ctx, "/"))(t)
		require.Len(t, names, 2)
		for _, path := range []string{alone, together[0].Path} {
			require.Contains(t, names, strings.TrimPrefix(path, "/"))
			require.NoError(t, c.Delete(ctx, path, client.AnyVersion))
		}
		require.NoError(t, c.Delete(ctx, "/", client.AnyVersion))
	}
}
