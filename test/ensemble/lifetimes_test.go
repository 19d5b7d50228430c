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

// TestLifetimesInMixedEnsembles lets leaders of either kind remove containers whose last child is gone, and znodes
// whose time is over, made at servers of either kind, and in use until the leader, whose predecessor had not to
// remove them, leads; what is in use stays.
func TestLifetimesInMixedEnsembles(t *testing.T) {
	const ttl, longer = 500, 3_600_000 // ms
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newConfigured(t, func(_ int, o *cluster.Options) {
				o.Settings["extendedTypesEnabled"] = "true"
				bare(o, "znode.container.checkIntervalMs", "300")
			}, kinds...)
			c.underLoad(seed, func() {
				var used []string
				for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren, cluster.ZooKeeper} {
					old := c.leader()
					var idle []string
					for _, node := range c.nodes {
						root := fmt.Sprintf("/lifetimes-%s-%d-%d", kind, node.ID(), len(used))
						idle = append(idle, root+"-idle", root+"-brief")
						used = append(used, root+"-used", root+"-long")
						require.NoError(t, c.at(node, func(conn *wire.Conn) error {
							for _, r := range []wire.Request{
								wire.CreateContainer(root+"-idle", nil, wire.OpenACL),
								wire.CreateContainer(root+"-used", nil, wire.OpenACL),
								wire.CreateTTL(root+"-brief", nil, wire.OpenACL, proto.ModePersistentTTL, ttl),
								wire.CreateTTL(root+"-long", nil, wire.OpenACL, proto.ModePersistentTTL, longer),
								wire.Create(root+"-idle/child", nil, wire.OpenACL, 0),
								wire.Create(root+"-used/child", nil, wire.OpenACL, 0),
								wire.Create(root+"-brief/child", nil, wire.OpenACL, 0),
							} {
								if reply, err := conn.Do(r); err != nil || reply.Err() != nil {
									return errors.Join(err, reply.Err())
								}
							}
							return nil
						}), "at server %d (%s)", node.ID(), node.Kind())
					}
					leader := c.ledBy(kind)
					c.logf("%d has led, %d leads", old.ID(), leader.ID())
					for _, path := range idle { // it was in use until now
						require.NoError(t,
							c.at(c.any(), func(conn *wire.Conn) error {
								return errors.Join(conn.Sync("/"), conn.Delete(path+"/child", -1))
							}), path)
					}
					for _, node := range c.nodes {
						for _, path := range idle {
							cluster.Eventually(t, func() bool { return c.has(node, path) == proto.ErrNoNode },
								time.Minute, "server %d (%s) keeps %s, led by %d (%s)", node.ID(), node.Kind(), path,
								leader.ID(), leader.Kind())
						}
					}
				}
				for _, node := range c.nodes {
					for _, path := range used {
						require.Equal(t, proto.OK, c.has(node, path), "server %d (%s) has %s", node.ID(),
							node.Kind(), path)
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
