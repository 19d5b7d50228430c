package single_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/beside"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

// address is the server of all tests; each has a subtree of its own. It is one in this process, or that of
// WARREN_TEST_SERVERS, which must have extendedTypesEnabled, all four-letter words and no limit of connections.
var address string

func TestMain(m *testing.M) {
	if address = os.Getenv("WARREN_TEST_SERVERS"); address != "" {
		os.Exit(m.Run())
	}
	os.Exit(beside.Main(m, embed.Options{}, &address))
}

// within bounds a test step.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// do calls what takes nothing but a context, and has to succeed.
func do[V any](t testing.TB, call func(context.Context) (V, error)) V {
	t.Helper()
	return must.Do(call(within(t)))(t)
}

// attempt is do for goroutines of a test: what fails is noted, and the test goes on.
func attempt[V any](t testing.TB, call func(context.Context) (V, error)) V {
	v, err := call(within(t))
	assert.NoError(t, err)
	return v
}

var (
	rootsMu sync.Mutex
	roots   = map[string]string{} // by name of the running test
	runs    int
)

// rootOf returns a path of this run of the test, below a parent that does not exist.
func rootOf(t testing.TB) string {
	rootsMu.Lock()
	defer rootsMu.Unlock()
	if roots[t.Name()] == "" {
		runs++
		roots[t.Name()] = fmt.Sprintf("/%s-%d/r", t.Name(), runs)
		t.Cleanup(func() {
			rootsMu.Lock()
			defer rootsMu.Unlock()
			delete(roots, t.Name())
		})
	}
	return roots[t.Name()]
}

func dial(t testing.TB, options ...client.Option) *client.Client {
	t.Helper()
	return dialAt(t, address, options...)
}

// dialAt returns a client that is told no outcomes, as on ZooKeeper: what recipes make of a lost answer is looked at
// here. The package above looks at the others.
func dialAt(t testing.TB, addr string, options ...client.Option) *client.Client {
	t.Helper()
	c := must.Do(client.Dial(within(t), addr, append([]client.Option{client.WithSessionTimeout(10 * time.Second),
		client.WithBackoff(time.Millisecond, 50*time.Millisecond), client.WithoutOutcomes()}, options...)...))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// names returns the children of a znode.
func names(t testing.TB, c *client.Client, path string) []string {
	t.Helper()
	names, _ := must.Do2(c.Children(within(t), path))(t)
	return names
}

// awaitChildren waits until a znode has n children.
func awaitChildren(t testing.TB, c *client.Client, path string, n int) {
	t.Helper()
	ctx := within(t)
	for node, err := range c.Follow(ctx, path) {
		require.NoError(t, err)
		if node.Exists {
			break
		}
	}
	for {
		names, _, w, err := c.ChildrenW(ctx, path)
		require.NoError(t, err)
		if len(names) == n {
			w.Close()
			return
		}
		_, ok := w.Next(ctx)
		require.True(t, ok, "%s has the children %v, want %d", path, names, n)
	}
}

// done waits until a channel is closed.
func done(t testing.TB, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-within(t).Done():
		require.Fail(t, "never happened: "+what)
	}
}

// expire ends a session without its client: a second client resumes the session and closes it. The first client
// resumes it again as soon as it can, so expire may have to try more than once.
func expire(t testing.TB, options ...client.Option) (c *client.Client, end func()) {
	t.Helper()
	first := dial(t)
	resume := first.Detach()
	var hasEnded atomic.Bool
	hooks := client.WithHooks(client.Hooks{State: func(st client.StateChange) {
		if st.State == client.Expired {
			hasEnded.Store(true)
		}
	}})
	c = dial(t, append(options, client.WithResume(resume), hooks)...)
	return c, func() {
		t.Helper()
		for !hasEnded.Load() {
			other, err := client.Dial(within(t), address, client.WithResume(resume))
			if errors.Is(err, client.ErrSessionExpired) {
				return
			}
			require.NoError(t, err)
			if other.Close() == nil {
				return
			}
		}
	}
}

// newLink returns a way to the server that can be cut.
func newLink(t testing.TB) *relay.Relay {
	t.Helper()
	k := must.Do(relay.New(address))(t)
	t.Cleanup(k.Close)
	return k
}
