//go:build interop

package ensemble

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// ledBy stops leaders in order, and starts them again, until a server of a kind leads. In the mixes the server that
// is alone of its kind has the largest id, and so the better claim.
func (c *chaos) ledBy(kind cluster.Kind) *cluster.Node {
	c.t.Helper()
	for range 12 {
		leader := c.certainLeader()
		if leader.Kind() == kind {
			return leader
		}
		leader.Stop()
		c.certainLeader()
		leader.Launch()
		c.whole()
	}
	c.t.Fatalf("no server of kind %s comes to lead", kind)
	return nil
}

// leaderKills is how often a leader in Java is killed at most, in each of the mixes.
const leaderKills = 10

// TestJavaLeadersKilled kills the leader of mixed ensembles again and again while clients write, always one in Java:
// every session goes on at a server of either kind, and what the killed leader has acknowledged is known to the next
// one, whatever its kind.
func TestJavaLeadersKilled(t *testing.T) {
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newConfigured(t, func(_ int, o *cluster.Options) {
				// a leader in Java first writes a snapshot of all that the clients have made
				o.Settings["initLimit"] = "60"
			}, kinds...)
			successors := map[cluster.Kind]int{}
			c.underLoad(seed, func() {
				for range min(*roundsFlag, leaderKills) {
					leader := c.ledBy(cluster.ZooKeeper)
					c.sleep(200, 1200)
					c.logf("SIGKILL to %d", leader.ID())
					leader.Kill()
					next := c.certainLeader()
					successors[next.Kind()]++
					c.sleep(0, 300)
					leader.Launch()
					c.whole()
				}
			})
			c.logf("successors: %v", successors)
			require.NotZero(t, successors[cluster.Warren], "no leadership has changed kinds")
		})
	}
}
