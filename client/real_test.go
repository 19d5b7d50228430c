package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// servers returns the connect strings of real servers to test against, which are those of WARREN_TEST_SERVERS,
// separated by spaces. They must have extendedTypesEnabled. The name of a test that asks for them ends in
// OnEachServer, so that test/client finds it and gives it a Warren server.
func servers(t testing.TB) []string {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	require.True(t, strings.HasSuffix(test, "OnEachServer"), "the name does not say that the test is for servers")
	return strings.Fields(os.Getenv("WARREN_TEST_SERVERS"))
}

// eachServer runs a test against the fake server and every real one, in a chroot that is removed afterwards.
func eachServer(t *testing.T, f func(t *testing.T, connect string)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) { f(t, newFake(t).addr()) })
	for _, server := range servers(t) {
		t.Run(server, func(t *testing.T) {
			root := dial(t, server)
			base := fmt.Sprintf("/client-test-%x", time.Now().UnixNano())
			ctx := within(t, time.Minute)
			require.Do(root.Create(ctx, base, nil, Persistent))(t)
			t.Cleanup(func() { removeTree(t, server, base) })
			f(t, server+base)
		})
	}
}

// removeTree deletes a subtree after the test; the context of the test has ended by then.
func removeTree(t *testing.T, server, path string) {
	c := require.Do(New(server))(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var remove func(path string)
	remove = func(path string) {
		names, _, err := c.Children(ctx, path)
		if errors.Is(err, ErrNoNode) {
			return
		}
		require.NoError(t, err)
		for _, name := range names {
			remove(paths.ChildOf(path, name))
		}
		if err := c.Delete(ctx, path, AnyVersion); !errors.Is(err, ErrNoNode) {
			require.NoError(t, err)
		}
	}
	remove(path)
}

func TestOperationsOnEachServer(t *testing.T) {
	eachServer(t, func(t *testing.T, connect string) {
		c := dial(t, connect)
		ctx := within(t, time.Minute)

		path, stat := require.Do2(c.CreateStat(ctx, "/a", []byte("one"), Persistent))(t)
		require.Equal(t, "/a", path)
		require.Equal(t, stat.Czxid, stat.Mzxid)
		require.EqualValues(t, 3, stat.DataLength)

		_, err := c.Create(ctx, "/a", nil, Persistent)
		require.ErrorIs(t, err, ErrNodeExists)
		require.False(t, MayHaveApplied(err))
		require.Contains(t, err.Error(), "create2 /a")

		data, got := require.Do2(c.Get(ctx, "/a"))(t)
		require.Equal(t, "one", string(data))
		require.Equal(t, stat, got)

		require.EqualValues(t, 1, require.Do(c.Set(ctx, "/a", []byte("two!"), 0))(t).Version)
		require.ErrorIs(t, require.Err(c.Set(ctx, "/a", nil, 0)), ErrBadVersion)

		seq := require.Do(c.Create(ctx, "/a/s-", nil, EphemeralSequential))(t)
		require.Equal(t, "/a/s-0000000000", seq)
		names, st := require.Do2(c.Children(ctx, "/a"))(t)
		require.Equal(t, []string{"s-0000000000"}, names)
		require.EqualValues(t, 1, st.NumChildren)

		est, exists := require.Do2(c.Exists(ctx, seq))(t)
		require.True(t, exists)
		id, timeout := c.Session()
		require.Equal(t, id, SessionID(est.EphemeralOwner))
		require.Greater(t, timeout, 0)
		_, exists = require.Do2(c.Exists(ctx, "/nothing"))(t)
		require.False(t, exists)

		require.NoError(t, c.Sync(ctx, "/"))
		require.ErrorIs(t, c.Delete(ctx, "/a", AnyVersion), ErrNotEmpty)
		require.NoError(t, c.Delete(ctx, seq, AnyVersion))
		require.NoError(t, c.Delete(ctx, "/a", 1))
		require.ErrorIs(t, require.Err2(c.Get(ctx, "/a")), ErrNoNode)
		require.NoError(t, c.CreateAll(ctx, "/x/y/z"))
		require.NoError(t, c.CreateAll(ctx, "/x/y/z"))
		require.LessOrEqual(t, stat.Czxid, c.LastZxid())
	})
}

func TestTxnOnEachServer(t *testing.T) {
	eachServer(t, func(t *testing.T, connect string) {
		c := dial(t, connect)
		ctx := within(t, time.Minute)
		txn := new(Txn).Create("/m", []byte("1"), Persistent).Check("/m", 0).Set("/m", []byte("2"), 0).
			Create("/m/s", nil, PersistentSequential).Create("/m/t", nil, Persistent).Delete("/m/t", 0)
		results := require.Do(c.Commit(ctx, txn))(t)
		require.Len(t, results, 6)
		require.Equal(t, "/m", results[0].Path)
		require.EqualValues(t, 1, results[2].Stat.Version)
		require.Equal(t, "/m/s0000000000", results[3].Path)

		_, err := c.Commit(ctx, new(Txn).Set("/m", nil, AnyVersion).Delete("/none", AnyVersion).
			Set("/m", nil, AnyVersion))
		require.ErrorIs(t, err, ErrNoNode)
		var refused *TxnError
		require.True(t, errors.As(err, &refused))
		require.Equal(t, 1, refused.Index)
		require.Equal(t, "/none", refused.Path)
		data, _ := require.Do2(c.Get(ctx, "/m"))(t)
		require.Equal(t, "2", string(data))

		require.ErrorIs(t, require.Err(c.Commit(ctx, new(Txn).Create("no-slash", nil, Persistent))), ErrBadArguments)
	})
}

// A session that another client resumes and closes is expired for the first, with all that it held; a renewing
// client goes on.
func TestExpiryByServerOnEachServer(t *testing.T) {
	eachServer(t, func(t *testing.T, connect string) {
		rebuilt := make(chan error, 10)
		c := dial(t, connect, WithBackoff(time.Millisecond, 10*time.Millisecond),
			WithRenewal(func(ctx context.Context, c *Client) error {
				_, err := c.Create(ctx, "/mine", nil, Ephemeral)
				rebuilt <- err
				return err
			}))
		ctx := within(t, time.Minute)
		require.Do(c.Create(ctx, "/mine", nil, Ephemeral))(t)
		tree := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)
		turn := states(t, c)
		id, _ := c.Session()
		thief := Resume{SessionID: id, Password: proto.SessionPassword(id)}
		for len(rebuilt) == 0 { // the two take the connection from each other until one says the last word
			if other, err := Dial(ctx, connect, WithResume(thief)); err == nil {
				_ = other.Close()
			} else {
				require.ErrorIs(t, err, ErrSessionExpired)
			}
		}
		require.ErrorIs(t, until(t, turn, Expired).Err, ErrSessionExpired)
		require.NoError(t, <-rebuilt)
		stat, exists := require.Do2(c.Exists(ctx, "/mine"))(t)
		require.True(t, exists)
		now, _ := c.Session()
		require.NotEqual(t, id, now)
		require.Equal(t, now, SessionID(stat.EphemeralOwner))
		for {
			if e := next(t, tree); e.Type == WatchLost {
				require.ErrorIs(t, e.Err, ErrSessionExpired)
				break
			}
		}
	})
}
