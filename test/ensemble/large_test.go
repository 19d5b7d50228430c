//go:build interop

package ensemble

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestLargeRequestsInMixedEnsembles raises jute.maxbuffer everywhere, and sends requests that need it through servers
// of both kinds to leaders of both kinds. Servers find them in the log of others and in their own, and get them with
// the whole state.
func TestLargeRequestsInMixedEnsembles(t *testing.T) {
	const limit = 3 << 20
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, _ := newConfigured(t,
				given(alike(map[string]string{"jute.maxbuffer": fmt.Sprint(limit), "tickTime": "1000"})), kinds...)
			var paths []string
			write := func(node *cluster.Node, path string) {
				t.Helper()
				conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard})
				half := func(name string) wire.Request {
					return wire.Create(name, bytes.Repeat([]byte(name[:1]), limit/2-1000), wire.OpenACL, 0)
				}
				_, err := conn.Create(path, bytes.Repeat([]byte{'x'}, limit-1000), proto.ModePersistent)
				require.NoError(t, err, "at server %d (%s)", node.ID(), node.Kind())
				slots, err := conn.Multi(half(path+"-one"), half(path+"-two"))
				require.NoError(t, err, "at server %d (%s)", node.ID(), node.Kind())
				require.Len(t, slots, 2)
				require.NoError(t, conn.CloseSession())
				paths = append(paths, path, path+"-one", path+"-two")
			}
			for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
				leader := c.ledBy(kind)
				behind := c.nodes[leader.ID()%3]
				for _, node := range c.nodes {
					write(node, fmt.Sprintf("/by-%d-under-%d", node.ID(), leader.ID()))
				}
				behind.Stop()
				write(leader, fmt.Sprintf("/without-%d-under-%d", behind.ID(), leader.ID()))
				behind.Launch()
				c.whole()
				for _, node := range c.nodes {
					if node != leader && node.Kind() == cluster.Warren { // with one in Java it would be a risk
						node.Stop()
						node.Wipe()
						node.Launch()
						c.whole()
					}
				}
				c.logf("led by %s: %d large znodes", kind, len(paths))
			}
			for _, node := range c.nodes {
				node.Stop()
				node.Launch()
				c.whole()
			}
			for _, node := range c.nodes {
				conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard})
				require.NoError(t, conn.Sync("/"))
				for _, path := range paths {
					stat, err := conn.Exists(path, false)
					require.NoError(t, err, "%s at server %d (%s)", path, node.ID(), node.Kind())
					require.Greater(t, stat.DataLength, int32(limit/2-2000))
				}
				require.NoError(t, conn.CloseSession())
			}
			c.same()
		})
	}
}
