package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

// startPreferring starts three servers with priorities, by id.
func startPreferring(t *testing.T, priorities ...int) *embed.Ensemble {
	t.Helper()
	return embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Configure: func(id int, c *config.Config) {
		c.Priority, c.PriorityPause = priorities[id-1], 500*time.Millisecond
		c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", 0
		c.SuperDigest = auth.DigestIdentity("super:secret").ID
	}})
}

func leads(e *embed.Ensemble, id int) bool { return e.Server(id).Status().Mode == "leader" }

// The server with the highest priority leads, whichever one was elected; while it is away, the next one. Clients keep
// their connections.
func TestPriorities(t *testing.T) {
	e := startPreferring(t, 5, 0, 1)
	require.NoError(t, e.WaitServing(within(t)))
	c := connect(t, e, 2, wire.Options{})
	c.MustCreate(t, "/mine", nil, proto.ModeEphemeral)
	until(t, "server 1 to lead", func() bool { return leads(e, 1) })
	require.NoError(t, c.Ping(), "the connection of a client outlives the change")
	c.MustSetData(t, "/mine", []byte("x"), 0)

	e.Stop(1)
	until(t, "server 3 to lead", func() bool { return leads(e, 3) })
	require.NoError(t, e.Start(1))
	until(t, "server 1 to lead again", func() bool { return leads(e, 1) })
	require.NoError(t, e.WaitServing(within(t)))
	require.NoError(t, e.WaitEqual(within(t)))
}

// Servers with the same priority do not take the leadership from each other, so that an operator's choice stays.
func TestEqualPrioritiesMoveNothing(t *testing.T) {
	e := startPreferring(t, 3, 3, 3)
	require.NoError(t, e.WaitServing(within(t)))
	leader := leaderOf(t, e)
	to := leader%3 + 1
	require.NoError(t, e.Server(leader).HandOver(proto.ServerID(to)))
	until(t, "the named server to lead", func() bool { return leads(e, to) })
	require.NoError(t, e.WaitServing(within(t)))
	epoch := e.Server(to).Status().Epoch
	time.Sleep(2 * time.Second) // four times the pause
	require.True(t, leads(e, to))
	require.Equal(t, epoch, e.Server(to).Status().Epoch)
}

// A server that is drained gets no leadership by its priority until it takes clients again.
func TestDrainedServersAreNotPreferred(t *testing.T) {
	e := startPreferring(t, 5, 0, 0)
	require.NoError(t, e.WaitServing(within(t)))
	until(t, "server 1 to lead", func() bool { return leads(e, 1) })
	require.NoError(t, e.WaitServing(within(t)))
	fieldsOf(t, e.Server(1), "drain", ``)
	require.NoError(t, e.Server(1).HandOver(2))
	until(t, "server 2 to lead", func() bool { return leads(e, 2) })
	require.NoError(t, e.WaitServing(within(t)))
	time.Sleep(2 * time.Second)
	require.True(t, leads(e, 2))
	fieldsOf(t, e.Server(1), "drain", `{"resume": true}`)
	until(t, "server 1 to lead again", func() bool { return leads(e, 1) })
}
