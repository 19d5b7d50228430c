package client

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	serverconfig "github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
)

// embedded is the address of a Warren server in this process, for the tests that are not content with a fake.
var embedded string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	e, err := embed.New(embed.Options{Configure: func(_ int, cfg *serverconfig.Config) { cfg.ExtendedTypes = true }})
	if err != nil {
		panic(err)
	}
	embedded = e.Addr(1)
	code := m.Run()
	e.Close()
	if err := goleak.Find(); err != nil {
		fmt.Println(err)
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
	c, err := Dial(within(t, time.Minute), connect, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// next receives an event or fails the test.
func next(t *testing.T, w *Watch) Event {
	t.Helper()
	e, ok := w.Next(within(t, time.Minute))
	require.True(t, ok, "watch of %s is over or silent: %v", w.Path(), w.Err())
	return e
}
