package zk_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client/zk"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/beside"
	"github.com/seed94657493/warren/test/gozk"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

// address is the server of all tests; each has a znode of its own.
var address string

func TestMain(m *testing.M) {
	os.Exit(beside.Main(m, embed.Options{Version: "3.9.1-warren, built on 2026-01-02 10:00 UTC"}, &address))
}

// quiet drops what a Conn logs.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect returns a Conn with a session whose first events have been received.
func connect(t testing.TB, addr string, options ...func(*zk.Conn)) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(quiet{}), func(c *zk.Conn) {
		for _, option := range options {
			option(c)
		}
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	until(t, events, zk.StateHasSession)
	return c, events
}

// until receives events up to a state of the session.
func until(t testing.TB, events <-chan zk.Event, last zk.State) {
	t.Helper()
	for {
		if e := receive(t, events); e.Type == zk.EventSession && e.State == last {
			return
		}
	}
}

// receive takes a value from a channel in time.
func receive[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	v, _, inTime := gozk.Within(ch)
	require.True(t, inTime, "nothing came")
	return v
}

var roots atomic.Int64

// newRoot makes a znode for one test.
func newRoot(t testing.TB, c *zk.Conn) string {
	t.Helper()
	return must.Do(c.Create(fmt.Sprintf("/%s-%d", t.Name(), roots.Add(1)), nil, 0, zk.WorldACL(zk.PermAll)))(t)
}

// newProxy returns a way to the server that can be cut.
func newProxy(t testing.TB) *relay.Relay {
	t.Helper()
	p := must.Do(relay.New(address))(t)
	t.Cleanup(p.Close)
	return p
}

// expire ends a session behind the back of its client.
func expire(t testing.TB, session int64) {
	t.Helper()
	w := &gozk.World{Addr: address, Proxy: newProxy(t), Root: "/-"}
	w.Expire(session)
	require.Empty(t, w.Seen())
}
