package single_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
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
	w := must.Do(c.Watch(within(t), path, client.WatchSubtree))(t)
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
	p := must.Do(d.Provider(within(t), "web", recipes.Random()))(t)
	defer p.Close()
	require.ErrorIs(t, must.Err(p.Pick()), recipes.ErrNoInstance)

	k := newLink(t)
	a := must.Do(recipes.NewDiscovery(dialAt(t, k.Addr()), root).Register(within(t),
		recipes.Instance{Name: "web", ID: "a", Address: "h1"}))(t)
	c, end := expire(t)
	must.Do(recipes.NewDiscovery(c, root).Register(within(t), recipes.Instance{Name: "web", ID: "b"}))(t)
	static := must.Do(d.Register(within(t), recipes.Instance{Name: "web", ID: "c", Type: recipes.Static}))(t)
	permanent := must.Do(d.Register(within(t),
		recipes.Instance{Name: "web", ID: "d", Type: recipes.Permanent, Payload: json.RawMessage(`{"x":1}`)}))(t)
	require.Equal(t, []string{"web"}, do(t, d.Services))
	awaitIDs(t, observer, root, p, "a", "b", "c", "d")

	k.Shut()
	end()
	awaitIDs(t, observer, root, p, "a", "c", "d")
	k.Open()
	require.NoError(t, a.Update(within(t), recipes.Instance{Address: "h2", Disabled: true}))
	awaitIDs(t, observer, root, p, "c", "d")
	instances := must.Do(d.Instances(within(t), "web"))(t)
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
	r := must.Do(recipes.NewDiscovery(c, root).Register(within(t), recipes.Instance{Name: "web", ID: "a"}))(t)
	before, _ := must.Do2(observer.Exists(within(t), root+"/web/a"))(t)
	end()
	for node, err := range observer.Follow(within(t), root+"/web/a") {
		require.NoError(t, err)
		if node.Exists && node.Stat.EphemeralOwner != before.EphemeralOwner {
			break
		}
	}
	require.NoError(t, r.Close(within(t)))

	c, end = expire(t)
	r = must.Do(recipes.NewDiscovery(c, root).Register(within(t), recipes.Instance{Name: "web", ID: "a"}))(t)
	end()
	for r.Err() == nil {
		require.NoError(t, observer.Sync(within(t), "/"))
	}
	require.ErrorIs(t, r.Err(), client.ErrSessionExpired)
	_, err := recipes.NewDiscovery(c, root).Provider(within(t), "web", recipes.Random())
	require.ErrorIs(t, err, client.ErrSessionExpired)
}

func TestDiscoveryRefusesWhatIsNoInstance(t *testing.T) {
	root, c := rootOf(t), dial(t)
	d := recipes.NewDiscovery(c, root)
	for _, s := range []recipes.Instance{
		{}, {Name: "a/b"}, {Name: "a", ID: "x/y"}, {Name: "a", Type: recipes.DynamicSequential},
		{Name: "a", Type: "OTHER"},
	} {
		require.ErrorIs(t, must.Err(d.Register(within(t), s)), client.ErrBadArguments, "%v", s)
	}
	_, err := d.Register(within(t), recipes.Instance{Name: "a", Payload: json.RawMessage(`{`)})
	require.ErrorIs(t, err, recipes.ErrFormat)
	for _, name := range []string{"", "a/b"} {
		require.ErrorIs(t, must.Err(d.Instances(within(t), name)), client.ErrBadArguments)
		require.ErrorIs(t, must.Err(d.Provider(within(t), name, recipes.Random())), client.ErrBadArguments)
	}
	require.NoError(t, c.CreateAll(within(t), root+"/a"))
	must.Do(c.Create(within(t), root+"/a/junk", []byte("junk"), client.Persistent))(t)
	require.Empty(t, must.Do(d.Instances(within(t), "a"))(t))
	p := must.Do(d.Provider(within(t), "a", recipes.Random()))(t)
	defer p.Close()
	require.Empty(t, p.Instances())
}
