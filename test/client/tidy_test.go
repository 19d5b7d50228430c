package client_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// gauge reads one of the server's figures.
func gauge(t *testing.T, name string) int {
	t.Helper()
	return must.Do(wire.Gauge(embedded, name, time.Minute))(t)
}

// feature is something of a client that goes on until its context, or the client, ends.
type feature struct {
	do      func(ctx context.Context, c *client.Client) error
	watches bool // on the server
}

// untilFired waits for the event of a one-shot watch, which does not come.
func untilFired(ctx context.Context, w *client.Watch, err error) error {
	if err != nil {
		return err
	}
	defer w.Close()
	if e, ok := w.Next(ctx); ok {
		return e.Err
	}
	return ctx.Err()
}

// features are the methods of Client that begin what must end.
var features = map[string]feature{
	"GetW": {watches: true, do: func(ctx context.Context, c *client.Client) error {
		_, _, w, err := c.GetW(ctx, "/")
		return untilFired(ctx, w, err)
	}},
	"ExistsW": {watches: true, do: func(ctx context.Context, c *client.Client) error {
		_, _, w, err := c.ExistsW(ctx, "/tidy-none")
		return untilFired(ctx, w, err)
	}},
	"ChildrenW": {watches: true, do: func(ctx context.Context, c *client.Client) error {
		_, _, w, err := c.ChildrenW(ctx, "/zookeeper")
		return untilFired(ctx, w, err)
	}},
	"Watch": {watches: true, do: func(ctx context.Context, c *client.Client) error {
		node, err := c.Watch(ctx, "/tidy-none", client.WatchNode)
		if err != nil {
			return err
		}
		_, _, once, err := c.ExistsW(ctx, "/tidy-none") // fires never; the two share a path
		if err != nil {
			return err
		}
		defer once.Close()
		tree, err := c.Watch(ctx, "/tidy-none", client.WatchSubtree)
		if err != nil {
			return err
		}
		for range tree.All(ctx) {
			continue
		}
		_, _ = node.Next(ctx)
		return tree.Err()
	}},
	"NewCache": {watches: true, do: func(ctx context.Context, c *client.Client) error {
		cache, err := c.NewCache(ctx, "/zookeeper")
		if err != nil {
			return err
		}
		defer cache.Close()
		for range cache.Changes(ctx) {
			continue
		}
		return cache.Err()
	}},
	"Follow": {watches: true, do: func(ctx context.Context, c *client.Client) error {
		for _, err := range c.Follow(ctx, "/tidy-none") {
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	}},
	"States": {do: func(ctx context.Context, c *client.Client) error {
		for range c.States(ctx) {
			continue
		}
		return ctx.Err()
	}},
	"WhileHeld": {do: func(ctx context.Context, c *client.Client) error {
		held, cancel := c.WhileHeld(ctx)
		defer cancel()
		<-held.Done()
		return held.Err()
	}},
	"WhileConnected": {do: func(ctx context.Context, c *client.Client) error {
		held, cancel := c.WhileConnected(ctx)
		defer cancel()
		<-held.Done()
		return held.Err()
	}},
	"Async": {do: func(ctx context.Context, c *client.Client) error {
		for ctx.Err() == nil {
			if _, err := c.Async().Get(ctx, "/").Wait(ctx); err != nil {
				return err
			}
			c.Async().Exists(ctx, "/") // the reply is not waited for
		}
		return ctx.Err()
	}},
	"CreateProtected": {do: func(ctx context.Context, c *client.Client) error {
		for {
			path, err := c.CreateProtected(ctx, "/tidy-", nil, client.EphemeralSequential)
			if err != nil {
				return err
			}
			if err := c.DeleteSurely(ctx, path); err != nil {
				return err
			}
		}
	}},
	"DeleteSurely": {do: func(ctx context.Context, c *client.Client) error {
		for {
			if _, err := c.Create(ctx, "/tidy-surely", nil, client.Ephemeral); err != nil {
				return err
			}
			if err := c.DeleteSurely(ctx, "/tidy-surely"); err != nil {
				return err
			}
		}
	}},
}

// Whatever a client has begun leaves no goroutine, no watch, no connection and no znode, whether it is given up or
// its client is closed.
func TestEveryFeatureLeavesNothing(t *testing.T) {
	observer := dial(t, embedded)
	znodes := func() int {
		require.NoError(t, observer.Sync(within(t, time.Minute), "/"))
		return must.Do(observer.CountDescendants(within(t, time.Minute), "/"))(t)
	}
	const watches, connections = "zk_watch_count", "zk_num_alive_connections"
	awaits := func(t *testing.T, name string, want int) {
		t.Helper()
		require.Eventually(t, func() bool { return gauge(t, name) == want }, 10*time.Second, 2*time.Millisecond, name)
	}
	// the observer's and the one that asks: those of other tests have gone, and their watches
	awaits(t, connections, 2)
	for name, f := range features {
		begin := func(t *testing.T, ctx context.Context, c *client.Client, before int) chan error {
			ended := make(chan error, 1)
			go func() { ended <- f.do(ctx, c) }()
			if f.watches {
				require.Eventually(t, func() bool { return gauge(t, watches) > before }, 10*time.Second,
					time.Millisecond)
			}
			return ended
		}
		t.Run(name+" given up", func(t *testing.T) {
			c := dial(t, embedded)
			require.NoError(t, c.Sync(within(t, time.Minute), "/")) // its goroutines run
			watched, made, running := gauge(t, watches), znodes(), goleak.IgnoreCurrent()
			ctx, cancel := context.WithCancel(within(t, time.Minute))
			ended := begin(t, ctx, c, watched)
			cancel()
			<-ended
			require.NoError(t, goleak.Find(running))
			awaits(t, watches, watched)
			if name == "DeleteSurely" { // the create before it was given up, and may have happened
				require.NoError(t, c.Sync(within(t, time.Minute), "/"))
				require.NoError(t, c.DeleteSurely(within(t, time.Minute), "/tidy-surely"))
			}
			require.Eventually(t, func() bool { return znodes() == made }, 10*time.Second,
				2*time.Millisecond, "znodes")
		})
		t.Run(name+" closed", func(t *testing.T) {
			awaits(t, connections, 2)
			watched, made, running := gauge(t, watches), znodes(), goleak.IgnoreCurrent()
			c := dial(t, embedded)
			ended := begin(t, within(t, time.Minute), c, watched)
			require.NoError(t, c.Close())
			<-ended
			require.NoError(t, goleak.Find(running))
			awaits(t, watches, watched)
			awaits(t, connections, 2)
			require.Eventually(t, func() bool { return znodes() == made }, 10*time.Second,
				2*time.Millisecond, "znodes")
		})
	}
}

// A method that begins something must be in the table.
func TestEveryFeatureIsInTheTable(t *testing.T) {
	begins := map[reflect.Type]bool{reflect.TypeFor[*client.Watch](): true, reflect.TypeFor[*client.Cache](): true,
		reflect.TypeFor[client.Async](): true, reflect.TypeFor[context.Context](): true}
	all := reflect.TypeFor[*client.Client]()
	for i := range all.NumMethod() {
		m := all.Method(i)
		for k := range m.Type.NumOut() {
			if out := m.Type.Out(k); begins[out] || out.Kind() == reflect.Func {
				require.Contains(t, features, m.Name)
			}
		}
	}
	for name := range features {
		_, ok := all.MethodByName(name)
		require.True(t, ok, name)
	}
}
