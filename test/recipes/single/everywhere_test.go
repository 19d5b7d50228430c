package single_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// uses make every kind of znode that the recipes have, and leave it there.
var uses = map[string]func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error{
	"Mutex": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewMutex(c, path, options...).Lock(within(t)))
	},
	"RWMutex": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewRWMutex(c, path, options...).RLock(within(t)))
	},
	"SimpleMutex": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewSimpleMutex(c, path, options...).Lock(within(t)))
	},
	"MultiMutex": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewMultiMutex(c, []string{path + "/a", path + "/b"}, options...).Lock(within(t)))
	},
	"Semaphore": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewSemaphore(c, path, 1, options...).Acquire(within(t)))
	},
	"Election": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewLatch(c, path, "x", options...).Campaign(within(t)))
	},
	"Group": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		n, err := recipes.NewGroup(c, path, options...).Join(within(t), "x", nil)
		t.Cleanup(func() { _ = n.Close(within(t)) })
		return err
	},
	"Rendezvous": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewRendezvous(c, path, options...).Announce(within(t), nil))
	},
	"Config": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewConfig(c, path, func([]byte) (int, error) { return 0, nil }, options...).
			Publish(within(t), nil)
	},
	"Bundle": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewBundle(c, path, options...).Publish(within(t), map[string][]byte{"a": nil})
	},
	"Barrier": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewBarrier(c, path, options...).Set(within(t))
	},
	"DoubleBarrier": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewDoubleBarrier(c, path, 1, options...).Enter(within(t))
	},
	"Counter": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewCounter(c, path, options...).Set(within(t), 1)
	},
	"SharedValue": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewSharedValue(c, path, options...).Seed(within(t), nil))
	},
	"IDs": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return must.Err(recipes.NewIDs(c, path, 5, options...).Next(within(t)))
	},
	"Names": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewNames(c, path, options...).Bind(within(t), "x", nil)
	},
	"Queue": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		q := recipes.NewQueue(c, path+"/items", path+"/locks", options...)
		require.NoError(t, q.Put(within(t), nil))
		return must.Err(q.Take(within(t)))
	},
	"PriorityQueue": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		q := recipes.NewPriorityQueue(c, path+"/items", path+"/locks", options...)
		require.NoError(t, q.Put(within(t), -1, nil))
		return must.Err(q.Take(within(t)))
	},
	"DelayQueue": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		q := recipes.NewDelayQueue(c, path+"/items", path+"/locks", options...)
		require.NoError(t, q.Put(within(t), time.Now(), nil))
		return must.Err(q.Take(within(t)))
	},
	"Discovery": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		d := recipes.NewDiscovery(c, path, options...)
		r := must.Do(d.Register(within(t), recipes.Instance{Name: "a"}))(t)
		t.Cleanup(func() { _ = r.Close(within(t)) })
		return must.Err(d.Register(within(t), recipes.Instance{Name: "b", Type: recipes.Static}))
	},
	"TwoPhaseCommit": func(t *testing.T, c *client.Client, path string, options ...recipes.Option) error {
		return recipes.NewTwoPhaseCommit(c, path, options...).Begin(within(t), nil, "x")
	},
}

// all returns a znode and everything below it.
func all(t *testing.T, c *client.Client, path string) []string {
	t.Helper()
	paths := []string{path}
	for _, name := range names(t, c, path) {
		paths = append(paths, all(t, c, strings.TrimSuffix(path, "/")+"/"+name)...)
	}
	return paths
}

// Every znode of a recipe, with the parents that it makes, has the ACL of its option, and the recipe can work with
// it.
func TestEveryRecipeUsesItsACL(t *testing.T) {
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			c := dial(t, client.WithAuth("digest", []byte("me:secret")))
			top := strings.ReplaceAll(rootOf(t), "/", "-")[1:]
			require.NoError(t, use(t, c, "/"+top+"/parent/x", recipes.WithACL(client.CreatorACL()...)))
			paths := all(t, c, "/"+top)
			require.Greater(t, len(paths), 2)
			for _, path := range paths {
				acl, _ := must.Do2(c.GetACL(within(t), path))(t)
				require.Len(t, acl, 1, path)
				require.Equal(t, "digest", acl[0].Scheme, path)
				require.EqualValues(t, client.PermAll, acl[0].Perms, path)
			}
			_, _, err := dial(t).Get(within(t), paths[len(paths)-1])
			require.ErrorIs(t, err, client.ErrNoAuth)
		})
	}
}

// Below a chroot a recipe makes the same znodes as without, and none elsewhere.
func TestEveryRecipeWorksBelowAChroot(t *testing.T) {
	count := func(t *testing.T, c *client.Client, path string) int { return len(all(t, c, path)) }
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			plain := dial(t)
			top := strings.ReplaceAll(rootOf(t), "/", "-")[1:]
			require.NoError(t, use(t, plain, "/"+top+"-plain/x"))
			require.NoError(t, plain.CreateAll(within(t), "/"+top+"-root"))
			before := names(t, plain, "/")
			c := dialAt(t, address+"/"+top+"-root")
			require.NoError(t, use(t, c, "/"+top+"-plain/x"))
			require.Equal(t, count(t, plain, "/"+top+"-plain"), count(t, plain, "/"+top+"-root/"+top+"-plain"))
			require.ElementsMatch(t, before, names(t, plain, "/"))
		})
	}
}
