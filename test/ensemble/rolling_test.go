package ensemble

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// rollingGapMax is what a restart may cost a client at most on a machine that does much else. TestFailover measures.
const rollingGapMax = 2 * time.Second

// TestRollingRestart stops and starts one server after the other with SIGTERM, the leader too, while clients write:
// it costs no session, and hardly any time.
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
	return usual(t, kind, servers, nil)
}

// networked is plain, but every server is in a network namespace of its own.
func networked(t *testing.T, kind cluster.Kind, servers int) *chaos {
	t.Helper()
	f := newFabric(t, servers)
	if f == nil {
		t.Skip("no network namespaces")
	}
	return usual(t, kind, servers, f)
}

// usual brings up servers of one kind with their defaults, on loopback if there is no fabric.
func usual(t *testing.T, kind cluster.Kind, servers int, f *fabric) *chaos {
	t.Helper()
	c := &chaos{t: t, voters: servers, began: time.Now(), fabric: f}
	c.seed(1)
	var o []cluster.Options
	for i := 1; i <= servers; i++ {
		one := cluster.Options{Kind: kind, Settings: map[string]string{"maxSessionTimeout": "60000"},
			JVM: []string{"-Xmx1g"}}
		if f != nil {
			one.Host, one.Namespace = f.Addr(i), f.Namespace(i)
		}
		o = append(o, one)
	}
	c.launch(o)
	return c
}
