package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
)

// removeTree deletes a subtree after the test, whose context is over by then.
func removeTree(t *testing.T, server, root string) {
	c := must.Do(client.New(server))(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var remove func(at string)
	remove = func(at string) {
		names, _, err := c.Children(ctx, at)
		if errors.Is(err, client.ErrNoNode) {
			return
		}
		require.NoError(t, err)
		for _, name := range names {
			remove(path.Join(at, name))
		}
		if err := c.Delete(ctx, at, client.AnyVersion); !errors.Is(err, client.ErrNoNode) {
			require.NoError(t, err)
		}
	}
	remove(root)
}

// What only real servers do.
func TestRealOnly(t *testing.T) {
	for _, server := range servers() {
		t.Run(server, func(t *testing.T) {
			chroot := fmt.Sprintf("/real-%x", time.Now().UnixNano())
			c := dial(t, server+chroot)
			t.Cleanup(func() { removeTree(t, server, chroot) })
			ctx := within(t, time.Minute)
			require.NoError(t, dial(t, server).CreateAll(ctx, chroot))

			must.Do(c.Create(ctx, "/ttl", nil, client.PersistentTTL, client.WithTTL(time.Hour)))(t)
			must.Do(c.Create(ctx, "/ttl-", nil, client.PersistentSequentialTTL, client.WithTTL(time.Hour)))(t)
			must.Do(c.Create(ctx, "/box", []byte{}, client.Container))(t)
			data, _ := must.Do2(c.Get(ctx, "/box"))(t)
			require.NotNil(t, data)
			require.Empty(t, data)

			must.Do(c.Commit(ctx, new(client.Txn).Create("/box2", nil, client.Container).
				Create("/ttl2", nil, client.PersistentTTL, client.WithTTL(time.Minute))))(t)

			require.NoError(t, c.AddAuth(ctx, "digest", []byte("bob:secret")))
			must.Do(c.Create(ctx, "/mine", nil, client.Ephemeral, client.WithACL(client.CreatorACL()...)))(t)
			acl, st := must.Do2(c.GetACL(ctx, "/mine"))(t)
			bob := client.ACL{Perms: client.PermAll, Scheme: "digest", ID: "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="}
			require.Equal(t, []client.ACL{bob}, acl)
			must.Do(c.SetACL(ctx, "/mine", client.ReadACL(), st.Aversion))(t)
			_, err := c.Set(ctx, "/mine", nil, client.AnyVersion)
			require.ErrorIs(t, err, client.ErrNoAuth)

			require.Equal(t, []string{"/mine"}, must.Do(c.Ephemerals(ctx, "/"))(t))
			require.Equal(t, 6, must.Do(c.CountDescendants(ctx, "/"))(t))
			who := must.Do(c.WhoAmI(ctx))(t)
			require.Contains(t, who, client.Identity{Scheme: "digest", User: "bob"})

			got := must.Do(c.Read(ctx, new(client.Reads).Get("/box").Children("/").Get("/none")))(t)
			require.Len(t, got[1].Children, 6)
			require.ErrorIs(t, got[2].Err, client.ErrNoNode)

			must.Do2(c.Config(ctx))(t)
			_, _, err = c.Reconfig(ctx, client.Reconfig{FromVersion: client.AnyConfig})
			require.Error(t, err)
			require.False(t, client.MayHaveApplied(err))

			err = c.AddAuth(ctx, "nonsense", nil)
			require.ErrorIs(t, err, client.ErrAuthFailed)
			_, _, err = c.Get(ctx, "/box") // on a new connection, with the old identities
			if err != nil {
				require.ErrorIs(t, err, client.ErrConnectionLoss)
				_, _, err = c.Get(ctx, "/box")
			}
			require.NoError(t, err)
			who = must.Do(c.WhoAmI(ctx))(t)
			require.Contains(t, who, client.Identity{Scheme: "digest", User: "bob"})

			require.False(t, must.Do(c.HasWatch(ctx, "/box", client.WatcherAny))(t))
		})
	}
}

func TestSASLReal(t *testing.T) {
	for _, server := range strings.Fields(os.Getenv("WARREN_TEST_SASL")) {
		t.Run(server, func(t *testing.T) { testSASL(t, server) })
	}
}

// testSASL needs a server with DIGEST-MD5, user bob, password bobsecret.
func testSASL(t *testing.T, server string) {
	c := dial(t, server, client.WithSASL(client.DigestMD5("bob", "bobsecret")))
	who := must.Do(c.WhoAmI(within(t, time.Minute)))(t)
	require.Contains(t, who, client.Identity{Scheme: "sasl", User: "bob"})

	bad := must.Do(client.New(server, client.WithSASL(client.DigestMD5("bob", "wrong"))))(t)
	defer bad.Close()
	require.ErrorIs(t, bad.WaitConnected(within(t, time.Minute)), client.ErrAuthFailed)
	require.Equal(t, client.AuthFailed, bad.State().State)
}
