//go:build interop

package ensemble

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// threeGroups are five voters of which two can be a quorum and three none: 3 outweighs 4 and is a group's majority,
// and so is 5, while 1 and 4 are no majority of theirs.
var threeGroups = map[string]string{"group.1": "1:2", "group.2": "3:4", "group.3": "5",
	"weight.1": "1", "weight.2": "1", "weight.3": "2", "weight.4": "1", "weight.5": "1"}

// TestGroupsOfMixedEnsembles lets servers of both kinds count quorums by groups and weights: two servers go on where
// they are a quorum, three do not where they are none, and what was acknowledged is there when leaders of either kind
// follow each other.
func TestGroupsOfMixedEnsembles(t *testing.T) {
	const z, w = cluster.ZooKeeper, cluster.Warren
	for _, kinds := range [][]cluster.Kind{{z, z, w, w, z}, {w, w, z, z, w}} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newConfigured(t, func(_ int, o *cluster.Options) {
				maps.Copy(o.Settings, threeGroups)
			}, kinds...)
			c.underLoad(seed, func() {
				c.down(1, 2, 4)
				c.write("/two", 3, 5)
				c.up(1, 4)
				c.write("/four", 1, 3, 4, 5)
				c.down(3)
				c.serveNobody(1, 4, 5)
				c.up(3)
				c.write("/again", 1, 3, 4, 5)
				c.up(2)
				for _, kind := range []cluster.Kind{z, w} {
					c.crash(c.ledBy(kind))
				}
			})
		})
	}
}

// down kills servers at the same time.
func (c *chaos) down(ids ...int) {
	for _, id := range ids {
		c.logf("  SIGKILL to %d", id)
		c.nodes[id-1].Kill()
	}
}

// up starts servers and waits for them.
func (c *chaos) up(ids ...int) {
	c.t.Helper()
	for _, id := range ids {
		c.nodes[id-1].Launch()
	}
	for _, id := range ids {
		c.nodes[id-1].WaitServing()
	}
}

// write makes a znode by each of some servers, which the others of them then have.
func (c *chaos) write(path string, ids ...int) {
	c.t.Helper()
	for _, id := range ids {
		node := c.nodes[id-1]
		mine := fmt.Sprintf("%s-by-%d", path, id)
		cluster.Eventually(c.t, func() bool { // a leader has to be found first, and an answer can be lost with it
			err := c.at(node, func(conn *wire.Conn) error {
				if _, err := conn.Create(mine, nil, proto.ModePersistent); err != nil &&
					!errors.Is(err, proto.ErrNodeExists) {
					return err
				}
				return conn.Sync("/")
			})
			return err == nil
		}, time.Minute, "server %d (%s) does not write", id, node.Kind())
	}
	for _, id := range ids {
		for _, by := range ids {
			require.NoError(c.t, c.at(c.nodes[id-1], func(conn *wire.Conn) error {
				if err := conn.Sync("/"); err != nil {
					return err
				}
				_, err := conn.Exists(fmt.Sprintf("%s-by-%d", path, by), false)
				return err
			}), "server %d reads what server %d has written", id, by)
		}
	}
}

// at does something in a session of its own at a server.
func (c *chaos) at(node *cluster.Node, do func(*wire.Conn) error) error {
	conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := do(conn); err != nil {
		return err
	}
	return conn.CloseSession()
}

// serveNobody requires that servers stop to serve and do not begin again.
func (c *chaos) serveNobody(ids ...int) {
	c.t.Helper()
	for _, id := range ids {
		cluster.Eventually(c.t, func() bool { return !c.nodes[id-1].Serves() }, time.Minute,
			"server %d serves without a quorum", id)
	}
	for range 30 {
		time.Sleep(100 * time.Millisecond)
		for _, id := range ids {
			require.False(c.t, c.nodes[id-1].Serves(), "server %d (%s) serves without a quorum", id,
				c.nodes[id-1].Kind())
		}
	}
}
