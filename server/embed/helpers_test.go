package embed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within returns a context for what must not take long.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// dial opens a session at a server, which may be without its leader for a moment when it first tries.
func dial(t testing.TB, e *Ensemble, id int, o wire.Options) *wire.Conn {
	t.Helper()
	var c *wire.Conn
	var last error
	err := poll(within(t), "a session", func() (bool, error) {
		if c, last = wire.Dial(e.Addr(id), o); errors.Is(last, wire.ErrRejected) {
			return false, last
		}
		return last == nil, nil
	})
	require.NoError(t, err, "%v", last)
	t.Cleanup(c.Close)
	return c
}

// create makes a persistent znode.
func create(t testing.TB, c *wire.Conn, path string) {
	t.Helper()
	c.MustCreate(t, path, []byte(path), proto.ModePersistent)
}

// leader is the id of the leader, and of another server.
func leader(t testing.TB, e *Ensemble) (leads, follows int) {
	t.Helper()
	leads = must.Do(e.Leader(within(t)))(t)
	return leads, leads%e.options.Servers + 1
}
