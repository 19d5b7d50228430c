package clientbench

import (
	"context"
	"errors"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/client/zk"
)

// contender is one client with a session.
type contender struct {
	name  string
	get   func(path string) error
	set   func(path string, data []byte) error
	watch func(path string) (any, error) // on the creation of path; the result is what the application keeps
	close func()
}

// connectors make the clients that are compared; the first is what the others are measured by.
var connectors = []func(t testing.TB, addr string) contender{dialTheirs, dialCompatible, dialOurs}

type silent struct{}

func (silent) Printf(string, ...any) {}

func dialTheirs(t testing.TB, addr string) contender {
	c, events, err := gozk.Connect([]string{addr}, 30*time.Second, gozk.WithLogger(silent{}))
	require.NoError(t, err)
	for e := range events {
		if e.State == gozk.StateHasSession {
			break
		}
	}
	return contender{
		name:  "go-zookeeper",
		get:   func(path string) error { _, _, err := c.Get(path); return err },
		set:   func(path string, data []byte) error { _, err := c.Set(path, data, -1); return err },
		watch: func(path string) (any, error) { _, _, w, err := c.ExistsW(path); return w, err },
		close: c.Close,
	}
}

func dialCompatible(t testing.TB, addr string) contender {
	c, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(silent{}))
	require.NoError(t, err)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return contender{
		name:  "client/zk",
		get:   func(path string) error { _, _, err := c.Get(path); return err },
		set:   func(path string, data []byte) error { _, err := c.Set(path, data, -1); return err },
		watch: func(path string) (any, error) { _, _, w, err := c.ExistsW(path); return w, err },
		close: c.Close,
	}
}

func dialOurs(t testing.TB, addr string) contender {
	c := dial(t, addr)
	ctx := context.Background()
	return contender{
		name:  "client",
		get:   func(path string) error { _, _, err := c.Get(ctx, path); return err },
		set:   func(path string, data []byte) error { _, err := c.Set(ctx, path, data, client.AnyVersion); return err },
		watch: func(path string) (any, error) { _, _, w, err := c.ExistsW(ctx, path); return w, err },
		close: func() { _ = c.Close() },
	}
}

func dial(t testing.TB, addr string) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, addr, client.WithSessionTimeout(30*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// makeNode makes a znode, or replaces its data.
func makeNode(t testing.TB, addr, path string, data []byte) {
	t.Helper()
	c := dial(t, addr)
	ctx := context.Background()
	if _, err := c.Create(ctx, path, data, client.Persistent); !errors.Is(err, client.ErrNodeExists) {
		require.NoError(t, err)
	}
	_, err := c.Set(ctx, path, data, client.AnyVersion)
	require.NoError(t, err)
}
