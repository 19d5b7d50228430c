package single_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ids(instances []recipes.Instance) (all []string) {
	for _, s := range instances {
		all = append(all, s.ID)
	}
	return all
}

// awaitIDs waits until a provider has certain instances.
func awaitIDs(t *testing.T, c *client.Client, path string, p *recipes.Provider, want ...string) {
	t.Helper()
	w, err := c.Watch(within(t), path, client.WatchSubtree)
	require.NoError(t, err)
	defer w.Close()
	tick := time.NewTicker(time.Millisecond) // the provider reads after the event
	defer tick.Stop()
	for limit := within(t); ; {
		if got := ids(p.Instances()); fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			require.Fail(t, "never listed", "%v, last were %v", want, ids(p.Instances()))
		}
	}
}

func TestDiscoveryListsWhoIsThere(t *testing.T) {
	root, observer := rootOf(t), dial(t)
	d := recipes.NewDiscovery(observer, root)
	list := do(t, d.Services)
	require.Empty(t, list)
	p, err := d.Provider(within(t), "web", recipes.Random())
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Pick()
	require.ErrorIs(t, err, recipes.ErrNoInstance)

	k := newLink(t)
	a, err := recipes.NewDiscovery(dialAt(t, k.Addr()), root).Register(within(t),
		recipes.Instance{Name: "web", ID: "a", Address: "h1"})
	require.NoError(t, err)
	c, end := expire(t)
	_, err = recipes.NewDiscovery(c, root).Register(within(t), recipes.Instance{Name: "web", ID: "b"})
	require.NoError(t, err)
	static, err := d.Register(within(t), recipes.Instance{Name: "web", ID: "c", Type: recipes.Static})
	require.NoError(t, err)
	permanent, err := d.Register(within(t),
		recipes.Instance{Name: "web", ID: "d", Type: recipes.Permanent, Payload: json.RawMessage(`{"x":1}`)})
	require.NoError(t, err)
	list = do(t, d.Services)
	require.Equal(t, []string{"web"}, list)
	awaitIDs(t, observer, root, p, "a", "b", "c", "d")

	k.Shut()
	end()
	awaitIDs(t, observer, root, p, "a", "c", "d")
	k.Open()
	require.NoError(t, a.Update(within(t), recipes.Instance{Address: "h2", Disabled: true}))
	awaitIDs(t, observer, root, p, "c", "d")
	instances, err := d.Instances(within(t), "web")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "d"}, ids(instances), "those that are disabled are registered")
	require.Equal(t, "h2", instances[0].Address)
	require.True(t, instances[0].RegisteredAt.Equal(a.Instance.RegisteredAt.Truncate(time.Millisecond)))
	require.NoError(t, static.Update(within(t), recipes.Instance{Port: 7}))
	require.NoError(t, static.Close(within(t)))
	require.NoError(t, permanent.Close(within(t)))
	awaitIDs(t, observer, root, p, "d")
	require.Equal(t, json.RawMessage(`{"x":1}`), p.Instances()[0].Payload)
	require.NoError(t, d.Unregister(within(t), "web", "d"))
	require.NoError(t, a.Close(within(t)))
	awaitIDs(t, observer, root, p)
	require.NoError(t, p.Err())
	p.Close()
	require.ErrorIs(t, p.Err(), client.ErrClosed)
}

// A dynamic instance comes back with a renewed session, and ends with its session otherwise.
func TestRegistrationSurvivesExpiryWithRenewalOnly(t *testing.T) {
	root, observer := rootOf(t), dial(t)
	c, end := expire(t, client.WithRenewal(nil))
	r, err := recipes.NewDiscovery(c, root).Register(within(t), recipes.Instance{Name: "web", ID: "a"})
	require.NoError(t, err)
	before, _, err := observer.Exists(within(t), root+"/web/a")
	require.NoError(t, err)
	end()
	for node, err := range observer.Follow(within(t), root+"/web/a") {
		require.NoError(t, err)
		if node.Exists && node.Stat.EphemeralOwner != before.EphemeralOwner {
			break
		}
	}
	require.NoError(t, r.Close(within(t)))

	c, end = expire(t)
	r, err = recipes.NewDiscovery(c, root).Register(within(t), recipes.Instance{Name: "web", ID: "a"})
	require.NoError(t, err)
	end()
	for r.Err() == nil {
		require.NoError(t, observer.Sync(within(t), "/"))
	}
	require.ErrorIs(t, r.Err(), client.ErrSessionExpired)
	_, err = recipes.NewDiscovery(c, root).Provider(within(t), "web", recipes.Random())
	require.ErrorIs(t, err, client.ErrSessionExpired)
}

func TestDiscoveryRefusesWhatIsNoInstance(t *testing.T) {
	root, c := rootOf(t), dial(t)
	d := recipes.NewDiscovery(c, root)
	for _, s := range []recipes.Instance{
		{}, {Name: "a/b"}, {Name: "a", ID: "x/y"}, {Name: "a", Type: recipes.DynamicSequential},
		{Name: "a", Type: "OTHER"},
	} {
		_, err := d.Register(within(t), s)
		require.ErrorIs(t, err, client.ErrBadArguments, "%v", s)
	}
	_, err := d.Register(within(t), recipes.Instance{Name: "a", Payload: json.RawMessage(`{`)})
	require.ErrorIs(t, err, recipes.ErrFormat)
	for _, name := range []string{"", "a/b"} {
		_, err = d.Instances(within(t), name)
		require.ErrorIs(t, err, client.ErrBadArguments)
		_, err = d.Provider(within(t), name, recipes.Random())
		require.ErrorIs(t, err, client.ErrBadArguments)
	}
	require.NoError(t, c.CreateAll(within(t), root+"/a"))
	_, err = c.Create(within(t), root+"/a/junk", []byte("junk"), client.Persistent)
	require.NoError(t, err)
	instances, err := d.Instances(within(t), "a")
	require.NoError(t, err)
	require.Empty(t, instances)
	p, err := d.Provider(within(t), "a", recipes.Random())
	require.NoError(t, err)
	defer p.Close()
	require.Empty(t, p.Instances())
}
