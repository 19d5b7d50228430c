package servers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

func TestSmokeTest(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), cmdline.HangGuard)
	defer cancel()
	require.NoError(t, e.WaitServing(ctx))
	servers := e.ConnectString()
	code, out, errs := run("smoketest", "--servers", servers, "-v", "--timeout", "60000")
	require.Zero(t, code, errs)
	require.Equal(t, "Smoke test successful\n", out)
	require.Contains(t, errs, e.Addr(2)+": see all deletions in order\n")

	c := must.Do(client.Dial(ctx, servers))(t)
	defer c.Close()
	_, exists := must.Do2(c.Exists(ctx, smokeRoot))(t)
	require.False(t, exists, "nothing is left")

	// of a run that was cut off
	for _, path := range []string{smokeRoot, smokeRoot + "/session_0", smokeRoot + "/other"} {
		must.Do(c.Create(ctx, path, nil, client.Persistent))(t)
	}
	code, out, errs = run("smoketest", "-s", servers, "-q", "--timeout", "1m")
	require.Zero(t, code, errs)
	require.Empty(t, out)
	require.Empty(t, errs)
}

func TestSmokeTestFails(t *testing.T) {
	one := embed.Start(t, embed.Options{Servers: 1})
	other := embed.Start(t, embed.Options{Servers: 1})
	ctx, cancel := context.WithTimeout(t.Context(), cmdline.HangGuard)
	defer cancel()
	require.NoError(t, one.WaitServing(ctx))
	require.NoError(t, other.WaitServing(ctx))
	code, out, errs := run("smoketest", "--servers", one.ConnectString()+","+other.ConnectString(), "--timeout", "1m")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Empty(t, out)
	require.Contains(t, errs, "create an ephemeral znode at "+other.ConnectString(), "two trees are no ensemble")

	fails(t, cli.ExitUnexpected, "cannot open a session at 127.0.0.1:1",
		"smoketest", "--servers", one.ConnectString()+",127.0.0.1:1", "--timeout", "2000")

	code, _, _ = run("smoketest", "--more")
	require.Equal(t, cli.ExitUsage, code)
}

// A server that forgets an event, or tells of another, is found out.
func TestSmokeTestWantsEventsInOrder(t *testing.T) {
	s := smoke{sessions: []*smokeSession{{child: "/a"}, {child: "/b"}}}
	session := &smokeSession{seen: make(smokeEvents, 4)}
	session.seen.Receive(client.Event{Type: client.NodeDeleted, Path: "/a"})
	session.seen.Receive(client.Event{Type: client.NodeDeleted, Path: "/b"})
	require.NoError(t, s.see(t.Context(), session))
	session.seen.Receive(client.Event{Type: client.NodeDeleted, Path: "/b"})
	require.ErrorContains(t, s.see(t.Context(), session), "before the deletion of /a")
	session.seen.Receive(client.Event{Type: client.NodeDeleted, Path: "/a"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorContains(t, s.see(ctx, session), "does not tell of the deletion of /b")
}
