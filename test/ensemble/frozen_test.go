package ensemble

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestFrozenLeaderExpiresNobody stops the leader for longer than all session timeouts, but not for so long that
// another is elected: no server could tell it that its clients live, so that its silence is not held against them.
func TestFrozenLeaderExpiresNobody(t *testing.T) {
	const timeout, frozen = 3 * time.Second, 7 * time.Second
	c := &chaos{t: t, voters: 3, began: time.Now()}
	c.seed(1)
	settings := map[string]string{"tickTime": "500", "syncLimit": "40", "maxSessionTimeout": "60000"}
	c.launch([]cluster.Options{{Settings: settings}, {Settings: settings}, {Settings: settings}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	leader := c.certainLeader()
	type held struct {
		*warren.Client
		server  *cluster.Node
		session warren.SessionID
		path    string
	}
	var all []held
	for _, node := range c.nodes {
		for i := range 5 {
			one := must.Do(warren.Dial(ctx, node.Addr(), warren.WithSessionTimeout(timeout)))(t)
			defer one.Close()
			h := held{Client: one, server: node, path: fmt.Sprintf("/held-%d-%d", node.ID(), i)}
			h.session = one.State().SessionID
			must.Do(one.Create(ctx, h.path, nil, warren.Ephemeral))(t)
			all = append(all, h)
		}
	}
	leader.Pause()
	time.Sleep(frozen)
	leader.Resume()
	for _, h := range all {
		var stat warren.Stat
		var exists bool
		err := warren.Retry(ctx, func(ctx context.Context) (err error) {
			stat, exists, err = h.Exists(ctx, h.path)
			return err
		})
		require.NoError(t, err, "client of server %d, leader is %d", h.server.ID(), leader.ID())
		require.True(t, exists, h.path)
		require.Equal(t, h.session, warren.SessionID(stat.EphemeralOwner))
		require.Equal(t, h.session, h.State().SessionID)
	}
	require.Equal(t, leader, c.certainLeader(), "no other leader was elected, or this has shown nothing")
}
