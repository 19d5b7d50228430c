package client

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	code := m.Run()
	if stacks := require.Goroutines(5 * time.Second); len(stacks) > 0 {
		fmt.Printf("%d goroutines outlive the tests:\n%s\n", len(stacks), strings.Join(stacks, "\n\n"))
		return 1
	}
	return code
}

// within returns a context for a test step.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dial connects and closes at the end of the test.
func dial(t *testing.T, connect string, options ...Option) *Client {
	t.Helper()
	c := require.Do(Dial(within(t, time.Minute), connect, options...))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// faked is dial to a server of its own.
func faked(t *testing.T, options ...Option) (*fake, *Client) {
	t.Helper()
	f := newFake(t)
	return f, dial(t, f.addr(), options...)
}

// armed is the watch of a read that has to succeed: armed(c.GetW(ctx, path))(t).
func armed[V, W any](_ V, _ W, w *Watch, err error) func(*testing.T) *Watch {
	return func(t *testing.T) *Watch {
		t.Helper()
		require.NoError(t, err)
		return w
	}
}

// next receives an event or fails the test.
func next(t *testing.T, w *Watch) Event {
	t.Helper()
	e, ok := w.Next(within(t, time.Minute))
	require.True(t, ok, "watch of %s is over or silent: %v", w.Path(), w.Err())
	return e
}
