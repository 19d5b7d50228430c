package single_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// awaitData waits until a znode has the data and, unless owner is 0, the owner.
func awaitData(t *testing.T, c *client.Client, path, data string, owner client.SessionID) {
	t.Helper()
	for node, err := range c.Follow(within(t), path) {
		require.NoError(t, err)
		if node.Exists && string(node.Data) == data &&
			(owner == 0 || client.SessionID(node.Stat.EphemeralOwner) == owner) {
			return
		}
	}
	require.Fail(t, "never seen", "%s = %q", path, data)
}

func TestPersistentNodeComesBack(t *testing.T) {
	path, observer := rootOf(t), dial(t)
	k := newLink(t)
	c := dialAt(t, k.Addr())
	n := recipes.NewPersistentNode(c, path, []byte("1"))
	require.NoError(t, n.AwaitCreated(within(t)))
	session, _ := c.Session()
	for i := range 5 {
		before, _ := must.Do2(observer.Exists(within(t), path))(t)
		require.NoError(t, observer.Delete(within(t), path, -1))
		awaitData(t, observer, path, fmt.Sprint(i+1), session)
		after, _ := must.Do2(observer.Exists(within(t), path))(t)
		require.Greater(t, after.Czxid, before.Czxid)
		k.Shut()
		n.Set([]byte(fmt.Sprint(i + 2)))
		k.Open()
		awaitData(t, observer, path, fmt.Sprint(i+2), session)
	}
	require.NoError(t, n.Err())
	require.NoError(t, n.Close(within(t)))
	require.NoError(t, n.Err())
	_, exists := must.Do2(observer.Exists(within(t), path))(t)
	require.False(t, exists)
}

func TestPersistentNodeSurvivesExpiryWithRenewalOnly(t *testing.T) {
	observer := dial(t)
	c, end := expire(t, client.WithRenewal(nil))
	n := recipes.NewPersistentNode(c, rootOf(t), []byte("x"))
	require.NoError(t, n.AwaitCreated(within(t)))
	before, _ := must.Do2(observer.Exists(within(t), n.Path()))(t)
	end()
	for node, err := range observer.Follow(within(t), n.Path()) {
		require.NoError(t, err)
		if node.Exists && node.Stat.EphemeralOwner != before.EphemeralOwner {
			break
		}
	}
	require.NoError(t, n.Close(within(t)))

	c, end = expire(t)
	n = recipes.NewPersistentNode(c, rootOf(t), nil)
	require.NoError(t, n.AwaitCreated(within(t)))
	end()
	done(t, n.Done(), "the end of the node")
	require.ErrorIs(t, n.Err(), client.ErrSessionExpired)
	require.NoError(t, n.Close(within(t)))
}

func TestPersistentNodeWaitsForAnOlderOwner(t *testing.T) {
	path := rootOf(t)
	first := recipes.NewPersistentNode(dial(t), path, []byte("first"))
	require.NoError(t, first.AwaitCreated(within(t)))
	second := recipes.NewPersistentNode(dial(t), path, []byte("second"))
	created := make(chan error, 1)
	go func() { created <- second.AwaitCreated(within(t)) }()
	first.Set([]byte("changed"))
	awaitData(t, dial(t), path, "changed", 0)
	require.Empty(t, created)
	require.NoError(t, first.Close(within(t)))
	require.NoError(t, <-created)
	require.Equal(t, "second", dataOf(t, path))
	require.NoError(t, second.Close(within(t)))
}

// A member whose deletion has lost its answer does not delete the znode of the member that has taken its place.
func TestPersistentNodeLeavesItsSuccessor(t *testing.T) {
	path, observer, k := rootOf(t), dial(t), newLink(t)
	var isLost atomic.Bool
	c := dialAt(t, k.Addr(), client.WithHooks(client.Hooks{
		Start: func(ctx context.Context, op, at string) context.Context {
			if op == "delete" && at == path && !isLost.Swap(true) {
				k.Refuse()
				k.LoseAnswer(1)
			}
			return ctx
		}}))
	n := recipes.NewPersistentNode(c, path, nil)
	require.NoError(t, n.AwaitCreated(within(t)))
	closed := make(chan error, 1)
	go func() { closed <- n.Close(within(t)) }()
	var successor client.Stat
	require.Eventually(t, func() (isCreated bool) {
		_, stat, err := observer.CreateStat(within(t), path, nil, client.Ephemeral)
		successor = stat
		return err == nil
	}, time.Minute, time.Millisecond)
	k.Open()
	require.NoError(t, <-closed)
	stat, exists := must.Do2(observer.Exists(within(t), path))(t)
	require.True(t, exists)
	require.Equal(t, successor.Czxid, stat.Czxid)
}

// A second Close does nothing: by then the path may be in use again.
func TestSecondCloseDeletesNothing(t *testing.T) {
	root, c := rootOf(t), dial(t)
	first := recipes.NewPersistentNode(c, root+"/node", nil)
	require.NoError(t, first.AwaitCreated(within(t)))
	require.NoError(t, first.Close(within(t)))
	register := recipes.NewDiscovery(c, root+"/services")
	service := recipes.Instance{Name: "web", ID: "one", Type: recipes.Static}
	listed := must.Do(register.Register(within(t), service))(t)
	require.NoError(t, listed.Close(within(t)))

	second := recipes.NewPersistentNode(c, root+"/node", nil)
	require.NoError(t, second.AwaitCreated(within(t)))
	before, _ := must.Do2(c.Exists(within(t), second.Path()))(t)
	must.Do(register.Register(within(t), service))(t)
	require.NoError(t, first.Close(within(t)))
	require.NoError(t, listed.Close(within(t)))
	after, _ := must.Do2(c.Exists(within(t), second.Path()))(t)
	require.Equal(t, before.Czxid, after.Czxid)
	require.Len(t, must.Do(register.Instances(within(t), "web"))(t), 1)
	require.NoError(t, second.Close(within(t)))
}

func dataOf(t *testing.T, path string) string {
	data, _ := must.Do2(dial(t).Get(within(t), path))(t)
	return string(data)
}

func TestGroupFollowsItsMembers(t *testing.T) {
	root := rootOf(t)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	lists := make(chan string, 100)
	var all sync.WaitGroup
	group := recipes.NewGroup(dial(t), root)
	all.Go(func() {
		for members, err := range group.Follow(ctx) {
			assert.NoError(t, err, "follow")
			lists <- fmt.Sprintf("%s", members)
		}
	})
	expect := func(want string) {
		t.Helper()
		for got := ""; got != want; {
			select {
			case got = <-lists:
			case <-ctx.Done():
				require.Fail(t, "never listed", "%s, last was %s", want, got)
			}
		}
	}
	expect("[]")
	a := must.Do(group.Join(within(t), "a", []byte("1")))(t)
	expect("[{a 1}]")
	c, end := expire(t)
	must.Do(recipes.NewGroup(c, root).Join(within(t), "b", []byte("2")))(t)
	expect("[{a 1} {b 2}]")
	a.Set([]byte("3"))
	expect("[{a 3} {b 2}]")
	end()
	expect("[{a 3}]")
	require.NoError(t, a.Close(within(t)))
	expect("[]")
	require.ErrorIs(t, must.Err(group.Join(within(t), "x/y", nil)), client.ErrBadArguments)
	cancel()
	all.Wait()
}
