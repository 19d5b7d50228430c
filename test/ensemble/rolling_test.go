package ensemble

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// rollingGapMax is what a restart may cost a client at most on a machine that does much else. TestFailover measures.
const rollingGapMax = 2 * time.Second

// TestRollingRestart stops and starts one server after the other with SIGTERM, the leader too, while clients write: it costs no
// session, and hardly any time.
func TestRollingRestart(t *testing.T) {
	c := plain(t, cluster.Warren, 3)
	writers := startWriters(t, c.nodes)
	for _, w := range writers {
		w.waitAfter(t, time.Now())
	}
	led := 0
	for _, node := range c.nodes {
		wasLeader := node == c.certainLeader()
		if wasLeader {
			led++
		}
		from := time.Now()
		node.Stop()
		stopped := time.Now()
		node.Launch()
		c.whole()
		for _, w := range writers {
			to := w.waitAfter(t, time.Now()).acked
			gap := w.longestGap(from, to)
			c.logf("restart of server %d (leader: %v, ended after %v): %s waited %v at most", node.ID(), wasLeader,
				stopped.Sub(from).Round(time.Millisecond), w.name, gap.Round(time.Millisecond))
			require.Less(t, gap, rollingGapMax, "server %d, %s", node.ID(), w.name)
		}
	}
	require.Positive(t, led, "a leader was restarted")
	for _, w := range writers {
		w.end()
		require.NoError(t, w.failed)
	}
}

// plain brings up servers of one kind on loopback.
func plain(t *testing.T, kind cluster.Kind, servers int) *chaos {
	t.Helper()
	c, _ := plainWithSettings(t, kind, servers)
	return c
}

// plainWithSettings also returns the settings of each server, which count when it is launched again.
func plainWithSettings(t *testing.T, kind cluster.Kind, servers int) (c *chaos, settings []map[string]string) {
	t.Helper()
	c = &chaos{t: t, voters: servers, began: time.Now()}
	c.seed(1)
	var o []cluster.Options
	for range servers {
		one := map[string]string{"maxSessionTimeout": "60000"}
		settings = append(settings, one)
		o = append(o, cluster.Options{Kind: kind, Settings: one, JVM: []string{"-Xmx1g"}})
	}
	c.launch(o)
	return c, settings
}
