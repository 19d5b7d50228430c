package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// A learner with the eager check refuses requests that its own state forbids, and the leader makes no txn of them.
// Without the setting each refusal is a txn.
func TestEagerACLCheck(t *testing.T) {
	for _, eager := range []bool{true, false} {
		e := embed.Start(t, embed.Options{Servers: 3, TickTime: patient,
			Configure: func(_ int, c *config.Config) { c.EagerACLCheck = eager }})
		_, follower, _ := roles(t, e)
		c := connect(t, e, follower, wire.Options{})
		closed := []proto.ACL{{Perms: proto.PermRead,
			Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}}
		require.NoError(t, c.MustDo(t, wire.Create("/closed", nil, closed, proto.ModePersistent)).Err())
		c.MustCreate(t, "/open", nil, proto.ModePersistent)
		before := c.LastZxid()
		require.ErrorIs(t, must.Err(c.SetData("/closed", nil, -1)), proto.ErrNoAuth)
		require.ErrorIs(t, must.Err(c.SetACL("/closed", wire.OpenACL, -1)), proto.ErrNoAuth)
		require.ErrorIs(t, must.Err(c.Create("/closed/n", nil, proto.ModePersistent)), proto.ErrNoAuth)
		require.ErrorIs(t, c.Delete("/closed/n", -1), proto.ErrNoAuth)
		// Requests that are not forbidden, or not known to be forbidden here, go on.
		require.ErrorIs(t, c.Delete("/missing/n", -1), proto.ErrNoNode)
		require.NoError(t, c.Delete("/open", -1))
		refusals := proto.Zxid(0)
		if !eager {
			refusals = 4
		}
		require.Equal(t, before+2+refusals, c.LastZxid(), "eager: %v", eager)
	}
}
