//go:build interop

package ensemble

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestWipedServerUnderJava takes the disk of a Warren server away while one in Java leads. With the others there it
// gets everything back from that leader. Without one of them, when only those that remember less than all are a
// majority, it does not make up the majority, and nothing is lost; it does as soon as the other is back.
func TestWipedServerUnderJava(t *testing.T) {
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newMixed(t, kinds...)
			var wiped *cluster.Node // the Warren server of the largest id
			for _, node := range c.nodes {
				if node.Kind() == cluster.Warren {
					wiped = node
				}
			}
			c.underLoad(seed, func() {
				require.NotEqual(t, wiped, c.ledBy(cluster.ZooKeeper))
				c.sleep(300, 800)
				wiped.Kill()
				wiped.Wipe()
				wiped.Launch()
				c.whole()
				c.sleep(300, 800)
			})

			leader := c.ledBy(cluster.ZooKeeper)
			other := c.nodes[leader.ID()%3]
			if other == wiped {
				other = c.nodes[other.ID()%3]
			}
			leader.Kill() // it does not hear of what comes: the two others agree on it
			next := c.certainLeader()
			c.logf("server %d (%s) leads while %d is down", next.ID(), next.Kind(), leader.ID())
			conn := wire.Open(t, next.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
			conn.MustCreate(t, "/known-to-two", nil, proto.ModePersistent)
			conn.Close()
			other.Kill()
			wiped.Kill()
			wiped.Wipe()
			leader.Launch()
			wiped.Launch()
			c.logf("server %d has lost its disk, %d is down, %d does not know the last write", wiped.ID(),
				other.ID(), leader.ID())
			both := []*cluster.Node{leader, wiped}
			for _, node := range both {
				cluster.Eventually(t,
					func() bool { _, err := wire.FourLetter(node.Addr(), "srvr", time.Second); return err == nil },
					time.Minute, "server %d does not answer", node.ID())
			}
			for watch := cluster.NewWatch(); watch.Elapsed() < 10*time.Second; time.Sleep(100 * time.Millisecond) {
				for _, node := range both {
					require.False(t, node.Serves(), "server %d (%s) serves without a majority that remembers",
						node.ID(), node.Kind())
				}
			}
			other.Launch()
			c.whole()
			for _, node := range c.nodes {
				conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
				require.NoError(t, conn.Sync("/"))
				_, err := conn.Exists("/known-to-two", false)
				require.NoError(t, err, "server %d (%s)", node.ID(), node.Kind())
				require.NoError(t, conn.CloseSession())
			}
			c.same()
		})
	}
}
