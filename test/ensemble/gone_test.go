package ensemble

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestMachineOfTheLeaderIsGone takes the leader off the network while nothing is asked of the ensemble, so that the
// others have nothing to send to it. They notice before syncLimit has passed that nobody is there, elect one of
// themselves, and keep the connections of their clients.
func TestMachineOfTheLeaderIsGone(t *testing.T) {
	f := newFabric(t, 3)
	if f == nil {
		t.Skip("network namespaces take root")
	}
	const syncLimit = 10 * time.Second
	var o []cluster.Options
	for id := 1; id <= 3; id++ {
		o = append(o, cluster.Options{Host: f.Addr(id), Namespace: f.Namespace(id), Settings: map[string]string{
			"tickTime": "250", "syncLimit": "40", "maxSessionTimeout": "60000"}}) // a lease of 3.3 s
	}
	c := &chaos{t: t, voters: 3, began: time.Now(), fabric: f, nodes: cluster.Ensemble(t, o...)}
	c.begin()
	leader := c.certainLeader()
	others := c.but(leader)
	var conns []*wire.Conn
	for _, node := range others {
		conn := must.Do(wire.Dial(node.Addr(), wire.Options{TimeoutMs: 60_000, Reply: hangGuard}))(t)
		defer conn.Close()
		conns = append(conns, conn)
	}
	time.Sleep(time.Second) // until the ensemble is at rest
	c.logf("server %d is gone", leader.ID())
	from := time.Now()
	f.Isolate(leader.ID())
	for c.leaderOf(others) == nil {
		require.Less(t, time.Since(from), syncLimit)
	}
	c.logf("another server leads after %v", time.Since(from).Round(time.Millisecond))
	for i, node := range others {
		require.Contains(t, node.Log(), "leaving the leader: it acknowledges none of our packets", "server %d",
			node.ID())
		must.Do(conns[i].SetData("/", nil, -1))(t, "the connection to server %d", node.ID())
	}
	f.heal()
	c.whole()
}
