//go:build interop

package ensemble

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestMixedReconfig changes ensembles of both kinds, led by either kind, while clients work. Servers of both kinds
// join, move on to another role, go, and come again.
func TestMixedReconfig(t *testing.T) {
	for _, kinds := range [][]cluster.Kind{
		{cluster.Warren, cluster.Warren, cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
		{cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren, cluster.Warren, cluster.ZooKeeper},
		{cluster.ZooKeeper, cluster.Warren, cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
	} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newChanging(t, 3, kinds...)
			c.underLoad(seed, func() {
				all := []int{1, 2, 3}
				c.reconfigured(wire.Reconfig(c.line(4), "", "", -1), 1, 2, 3, 4)
				c.reconfigured(wire.Reconfig(c.line(5), "1", "", -1), 2, 3, 4, 5)
				c.reconfigured(wire.Reconfig(c.line(1), "4,5", "", -1), all...)
				for range 3 { // every leader goes once, and comes again
					leader := c.leader().ID()
					rest := slices.DeleteFunc(slices.Clone(all), func(id int) bool { return id == leader })
					c.reconfigured(wire.Reconfig("", fmt.Sprint(leader), "", -1), rest...)
					c.reconfigured(wire.Reconfig(c.line(leader), "", "", -1), all...)
					c.crash(c.leader())
				}
				observer := strings.Replace(c.line(2), ":participant;", ":observer;", 1)
				c.reconfiguredTo(wire.Reconfig(observer, "", "", -1), c.line(1), observer, c.line(3))
				c.reconfigured(
					wire.Reconfig("", "", strings.Join([]string{c.line(1), c.line(2), c.line(3), c.line(4)}, ","), -1),
					1, 2, 3, 4)
			})
		})
	}
}

// newChanging brings up an ensemble of the first servers, and the others as joiners.
func newChanging(t *testing.T, voters int, kinds ...cluster.Kind) (*chaos, uint64) {
	t.Helper()
	seed := printSeed(t)
	c := &chaos{t: t, rand: rand.New(rand.NewPCG(seed, 0)), voters: voters, began: time.Now()}
	var o []cluster.Options
	for i, kind := range kinds {
		o = append(o, cluster.Options{Kind: kind, Reconfig: true, Joiner: i >= voters,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20",
				"syncLimit": "8", "maxSessionTimeout": "60000", "snapCount": "2000",
				"znode.container.maxNeverUsedIntervalMs": "0"}})
	}
	c.nodes = cluster.Ensemble(t, o...)
	for i, node := range c.nodes {
		if node.Kind() == cluster.Warren && i < voters { // servers in Java cannot tell it that the ensemble is new
			require.NoError(t, os.MkdirAll(node.DataDir(), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(node.DataDir(), "initialize"), nil, 0o644))
		}
		node.Launch()
	}
	c.whole()
	return c, seed
}

func (c *chaos) line(id int) string { return c.nodes[id-1].Line() }

// reconfigured changes the ensemble until its voters are these.
func (c *chaos) reconfigured(r wire.Request, ids ...int) {
	c.t.Helper()
	var lines []string
	for _, id := range ids {
		lines = append(lines, c.line(id))
	}
	c.reconfiguredTo(r, lines...)
}

// reconfiguredTo changes the ensemble until all servers show these lines.
func (c *chaos) reconfiguredTo(r wire.Request, lines ...string) {
	c.t.Helper()
	var req proto.ReconfigRequest
	require.NoError(c.t, req.ReadFrom(r.Body))
	c.logf("reconfiguration +%s -%s =%s (leader %d, %s)", req.JoiningServers, req.LeavingServers, req.NewMembers,
		c.leader().ID(), c.leader().Kind())
	slices.Sort(lines)
	watch := cluster.NewWatch()
	for done := false; !done; {
		require.Less(c.t, watch.Elapsed(), time.Minute, "the ensemble is not %s", lines)
		node := c.any()
		conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: 5000, Reply: 5 * time.Second})
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if reply, err := conn.Do(r); err != nil || reply.Header.Err != proto.OK {
			code := error(err)
			if reply != nil {
				code = reply.Header.Err
			}
			c.logf("  at server %d: %v", node.ID(), code)
			time.Sleep(100 * time.Millisecond)
		}
		conn.Close()
		done = c.shows(c.leader(), lines)
	}
	for _, line := range lines {
		var id int
		_, err := fmt.Sscanf(line, "server.%d=", &id)
		require.NoError(c.t, err)
		for !c.shows(c.nodes[id-1], lines) {
			require.Less(c.t, watch.Elapsed(), time.Minute, "server %d does not show %s", id, lines)
			time.Sleep(20 * time.Millisecond)
		}
	}
	c.whole()
	c.sleep(100, 400)
}

// shows reports whether a server's configuration has these lines.
func (c *chaos) shows(node *cluster.Node, lines []string) bool {
	conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: 5000, Reply: 5 * time.Second})
	if err != nil {
		return false
	}
	defer conn.Close()
	if conn.Sync("/zookeeper/config") != nil {
		return false
	}
	data, _, err := conn.GetData("/zookeeper/config", false)
	if err != nil {
		return false
	}
	got := strings.Split(string(data), "\n")
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "version=") })
	slices.Sort(got)
	return slices.Equal(got, lines)
}
