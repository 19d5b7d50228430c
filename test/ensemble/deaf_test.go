package ensemble

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// deafGapMax is how long a leader that hears nothing may keep clients from writing in TestDeafLeader. The followers
// leave it after about a second and elect another: in deafElectionMax at most, if one of them leaves long before the
// other. Clients that are connected to the deaf leader wait until its lease has ended, which is five seconds there.
const (
	deafGapMax      = 8 * time.Second
	deafElectionMax = 5 * time.Second
)

// TestDeafLeader cuts all ways to the leader, whose own messages arrive: it sends proposals and pings, and later its
// vote, and hears nothing. The others notice that, elect one of themselves long before syncLimit has passed, and no
// session ends.
func TestDeafLeader(t *testing.T) {
	f := newFabric(t, 3)
	if f == nil {
		t.Skip("network namespaces take root")
	}
	var o []cluster.Options
	for id := 1; id <= 3; id++ {
		o = append(o, cluster.Options{Host: f.Addr(id), Namespace: f.Namespace(id), Settings: map[string]string{
			"tickTime": "500", "syncLimit": "30", "maxSessionTimeout": "60000"}}) // 15 s
	}
	c := &chaos{t: t, voters: 3, began: time.Now(), fabric: f, nodes: cluster.Ensemble(t, o...)}
	c.begin()
	writers := startWriters(t, c.nodes)
	for range 2 {
		for _, w := range writers {
			w.waitAfter(t, time.Now())
		}
		leader := c.certainLeader()
		c.logf("server %d becomes deaf", leader.ID())
		from := time.Now()
		f.Deafen(leader.ID())
		for c.leaderOf(c.but(leader)) == nil {
			require.Less(t, time.Since(from), deafElectionMax)
		}
		c.logf("another server leads after %v", time.Since(from).Round(time.Millisecond))
		time.Sleep(time.Until(from.Add(deafGapMax)))
		for _, w := range writers {
			to := w.waitAfter(t, time.Now()).acked
			gap := w.longestGap(from, to)
			c.logf("%s waited %v", w.name, gap.Round(time.Millisecond))
			require.Less(t, gap, deafGapMax, w.name)
		}
		require.NotEqual(t, leader, c.certainLeader())
		for _, node := range c.but(leader) {
			require.Contains(t, node.Log(), "leaving the leader: its packets arrive here", "server %d", node.ID())
		}
		f.Hears(leader.ID())
		c.whole()
	}
	for _, w := range writers {
		w.end()
		require.NoError(t, w.failed)
	}
}
