//go:build interop

package ensemble

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// A client's deleteContainer removes nothing while Warren leads: the server's own reaper alone may send it. A
// follower in Java passes the request of its client on without a look at permissions, and a leader in Java removes
// any znode without children. A container that is due is tried, too, with a reaper that does not come.
func TestDeleteContainerOfAClient(t *testing.T) {
	c, _ := newConfigured(t, func(_ int, o *cluster.Options) {
		bare(o, "znode.container.checkIntervalMs", "3600000")
	}, cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren)
	leader := c.ledBy(cluster.Warren)
	nobody := []proto.ACL{{Perms: proto.PermRead, Id: wire.OpenACL[0].Id}}
	for _, node := range c.nodes {
		root := "/at-" + string(rune('0'+node.ID()))
		require.NoError(t, c.at(node, func(conn *wire.Conn) error {
			for _, r := range []wire.Request{
				wire.Create(root, nil, wire.OpenACL, 0), wire.Create(root+"/guarded", nil, nobody, 0),
				wire.CreateContainer(root+"/due", nil, wire.OpenACL),
				wire.Create(root+"/due/child", nil, wire.OpenACL, 0), wire.Delete(root+"/due/child", -1),
				wire.Delete(root+"/absent", -1), wire.SetACL(root, nobody, -1),
			} {
				if reply, err := conn.Do(r); err != nil {
					return err
				} else if err := reply.Err(); err != nil && reply.Header.Err != proto.ErrNoNode {
					return err
				}
			}
			return nil
		}))
		for _, path := range []string{root + "/guarded", root + "/due"} {
			conn := wire.Open(t, node.Addr(), wire.Options{})
			request := proto.PathRequest{Path: proto.Text(path)}
			reply := conn.MustDo(t, wire.Request{Op: proto.OpDeleteContainer, Body: request.AppendTo(nil)})
			t.Logf("%s, led by %s: %v", node.Kind(), leader.Kind(), reply.Err())
			require.Equal(t, proto.ErrUnimplemented, reply.Header.Err, "%s at %s", path, node.Kind())
			conn.Close()
			require.Equal(t, proto.OK, c.has(node, path), "%s at %s", path, node.Kind())
		}
	}
}
