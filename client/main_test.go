package client

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	c, err := Dial(within(t, 10*time.Second), connect, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// next receives an event or fails the test.
func next(t *testing.T, w *Watch) Event {
	t.Helper()
	e, ok := w.Next(within(t, 10*time.Second))
	require.True(t, ok, "watch of %s is over or silent: %v", w.Path(), w.Err())
	return e
}
