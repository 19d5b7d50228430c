package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	serverconfig "github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// The leader of an ensemble is killed again and again: the session goes on elsewhere with its ephemeral, and no watch
// misses the last state.
func TestSessionOutlivesLeaders(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: steadyTick})
	ctx := within(t, time.Minute)
	c := dial(t, e.ConnectString()+"/app", client.WithSessionTimeout(20*time.Second))
	require.NoError(t, dial(t, e.ConnectString()).CreateAll(ctx, "/app"))
	id, _ := c.Session()
	must.Do(c.Create(ctx, "/mine", nil, client.Ephemeral))(t)
	must.Do(c.Create(ctx, "/n", nil, client.Persistent))(t)
	life, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan int32, 100)
	go func() {
		defer close(seen)
		for n, err := range c.Follow(life, "/n") {
			if err != nil {
				return
			}
			seen <- n.Stat.Version
		}
	}()
	for range 3 {
		leader := must.Do(e.Leader(ctx))(t)
		e.Kill(leader)
		err := client.Retry(ctx, func(ctx context.Context) error {
			_, err := c.Set(ctx, "/n", nil, client.AnyVersion)
			if client.MayHaveApplied(err) {
				return nil // then another one is as good
			}
			return err
		})
		require.NoError(t, err)
		require.NoError(t, e.Start(leader))
		require.NoError(t, e.WaitServing(ctx))
	}
	stat := must.Do(c.Set(ctx, "/n", nil, client.AnyVersion))(t)
	for v := range seen {
		if v == stat.Version {
			break
		}
		require.Less(t, v, stat.Version)
	}
	stop()
	for range seen { // until Follow has ended
	}
	own, exists := must.Do2(c.Exists(ctx, "/mine"))(t)
	require.True(t, exists)
	require.Equal(t, id, client.SessionID(own.EphemeralOwner))
	now, _ := c.Session()
	require.Equal(t, id, now)
	require.NoError(t, e.WaitEqual(ctx))
}

// Without a quorum a new client that may is served reads by what is left. It moves to a server with quorum when there
// is one again.
func TestReadOnlyServerOfAnEnsemble(t *testing.T) {
	e := embed.Start(t,
		embed.Options{Servers: 3, Configure: func(_ int, cfg *serverconfig.Config) { cfg.ReadOnlyMode = true }})
	ctx := within(t, time.Minute)
	before := dial(t, e.ConnectString())
	must.Do(before.Create(ctx, "/n", []byte("x"), client.Persistent))(t)
	require.NoError(t, e.WaitEqual(ctx))
	require.NoError(t, before.Close())
	e.Kill(2)
	e.Kill(3)
	c := must.Do(client.Dial(ctx, e.ConnectString(), client.WithReadOnly()))(t)
	defer c.Close()
	require.Equal(t, client.ConnectedReadOnly, c.State().State)
	id, _ := c.Session()
	data, _ := must.Do2(c.Get(ctx, "/n"))(t)
	require.Equal(t, "x", string(data))
	_, err := c.Set(ctx, "/n", nil, client.AnyVersion)
	require.ErrorIs(t, err, client.ErrNotReadOnly)
	require.False(t, client.MayHaveApplied(err))
	require.NoError(t, e.Start(2))
	require.NoError(t, e.Start(3))
	for st := range c.States(ctx) {
		if st.State == client.Connected {
			break
		}
	}
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) error {
		_, err := c.Set(ctx, "/n", nil, 0)
		return err
	}))
	now, _ := c.Session()
	require.NotEqual(t, id, now, "the session of a server without quorum is known to no other")
}
