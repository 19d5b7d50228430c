//go:build interop

package ensemble

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestLifetimesInMixedEnsembles lets leaders of either kind remove containers whose last child is gone, and znodes whose time is over,
// made at servers of either kind and before the leader came to lead; what is in use stays.
func TestLifetimesInMixedEnsembles(t *testing.T) {
	const ttl, longer = 500, 3_600_000 // ms
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newConfigured(t, func(_ int, o *cluster.Options) {
				o.Settings["extendedTypesEnabled"] = "true"
				if o.Kind == cluster.Warren {
					o.Settings["znode.container.checkIntervalMs"] = "300"
				} else {
					o.Properties = map[string]string{"znode.container.checkIntervalMs": "300"}
				}
			}, kinds...)
			c.underLoad(seed, func() {
				var used []string
				for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren, cluster.ZooKeeper} {
					old := c.leader()
					var idle []string
					for _, node := range c.nodes {
						require.NoError(t, c.at(node, func(conn *wire.Conn) error {
							root := fmt.Sprintf("/lifetimes-%s-%d-%d", kind, node.ID(), len(used))
							for _, path := range []string{root + "-idle", root + "-used"} {
								if _, _, err := conn.CreateContainer(path, nil); err != nil {
									return err
								}
								if _, err := conn.Create(path+"/child", nil, proto.ModePersistent); err != nil {
									return err
								}
							}
							brief, _, err := conn.CreateTTL(root+"-brief-", nil, proto.ModePersistentSequentialTTL, ttl)
							if err != nil {
								return err
							}
							long, _, err := conn.CreateTTL(root+"-long", nil, proto.ModePersistentTTL, longer)
							if err != nil {
								return err
							}
							idle = append(idle, root+"-idle", brief)
							used = append(used, root+"-used", long)
							return conn.Delete(root+"-idle/child", -1)
						}), "at server %d (%s)", node.ID(), node.Kind())
					}
					leader := c.ledBy(kind)
					c.logf("%d has led, %d leads", old.ID(), leader.ID())
					for _, node := range c.nodes {
						for _, path := range idle {
							cluster.Eventually(t, func() bool { return c.has(node, path) == proto.ErrNoNode }, time.Minute,
								"server %d (%s) keeps %s, led by %d (%s)", node.ID(), node.Kind(), path, leader.ID(), leader.Kind())
						}
					}
				}
				for _, node := range c.nodes {
					for _, path := range used {
						require.Equal(t, proto.OK, c.has(node, path), "server %d (%s) has %s", node.ID(), node.Kind(), path)
					}
				}
			})
		})
	}
}

// has asks a server for a path, after a sync, until it answers.
func (c *chaos) has(node *cluster.Node, path string) (code proto.ErrCode) {
	c.t.Helper()
	cluster.Eventually(c.t, func() bool {
		return c.at(node, func(conn *wire.Conn) error {
			if err := conn.Sync("/"); err != nil {
				return err
			}
			_, err := conn.Exists(path, false)
			code = proto.OK
			if errors.As(err, &code) {
				return nil
			}
			return err
		}) == nil
	}, time.Minute, "server %d (%s) does not answer", node.ID(), node.Kind())
	return code
}
