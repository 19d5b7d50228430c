package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// The configuration of an ensemble can be read below a chroot. What the servers do not support they refuse by name,
// and nothing has happened.
func TestReconfigOfAnEnsemble(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: steadyTick})
	ctx := within(t, time.Minute)
	c := dial(t, e.ConnectString()+"/app")
	before, _ := must.Do2(c.Config(ctx))(t)
	require.Contains(t, string(before), "server.3=")
	_, _, err := c.Reconfig(ctx, client.Reconfig{Leave: "3", FromVersion: client.AnyConfig})
	require.Error(t, err)
	require.ErrorIs(t, err, client.ErrReconfigDisabled)
	require.False(t, client.MayHaveApplied(err))
	after, _ := must.Do2(c.Config(ctx))(t)
	require.Equal(t, before, after)
	require.Equal(t, client.Connected, c.State().State)
}
