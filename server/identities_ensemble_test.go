package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

// atRest starts an ensemble, and returns a follower of it and how often that has looked for a leader.
func atRest(t *testing.T) (e *embed.Ensemble, follower, looked int) {
	e = embed.Start(t, embed.Options{TickTime: patient, Servers: 3})
	_, follower, _ = roles(t, e)
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	looked = figure(t, e, follower, "looking_count")
	return e, follower, looked
}

// However many identities a client proves to a follower, its requests do not end the link to the leader.
func TestLeaderTakesAllIdentitiesOfAClient(t *testing.T) {
	e, follower, looked := atRest(t)
	c := connect(t, e, follower, wire.Options{})
	for i := range 1000 {
		if c.Auth("digest", fmt.Sprintf("%04d%s:x", i, strings.Repeat("u", 1013))) != nil {
			break // too many, which ends this connection only
		}
	}
	_, _ = c.Create("/a", nil, proto.ModePersistent)
	c = connect(t, e, follower, wire.Options{})
	c.MustCreate(t, "/b", nil, proto.ModePersistent)
	require.Equal(t, looked, figure(t, e, follower, "looking_count"))
}

// A learner forwards the identities of a client with each of its writes. Many small writes of a client with long
// identities are more than a link takes at once: the client waits, and the link goes on.
func TestManyWritesOfAClientWithManyIdentities(t *testing.T) {
	e, follower, looked := atRest(t)
	c := connect(t, e, follower, wire.Options{})
	for i := range 1000 {
		require.NoError(t, c.Auth("digest", fmt.Sprintf("%04d%s:x", i, strings.Repeat("u", 470))))
	}
	many := make([]wire.Request, 1200)
	for i := range many {
		many[i] = wire.SetData("/", nil, -1)
	}
	for _, call := range c.SendAll(many) {
		require.NoError(t, call.Wait())
	}
	require.Equal(t, looked, figure(t, e, follower, "looking_count"))
}
