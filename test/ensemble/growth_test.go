package ensemble

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// This file changes ensembles that cannot be reconfigured: each server has the list that its zoo.cfg has, and an
// operator restarts one server after the other with a new list.

// growing brings up the servers of the first kinds, which know each other, and prepares those of the other kinds.
func growing(t *testing.T, voters int, kinds ...cluster.Kind) (c *chaos, all []*cluster.Node) {
	t.Helper()
	var o []cluster.Options
	for _, kind := range kinds {
		o = append(o, cluster.Options{Kind: kind,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8",
				"maxSessionTimeout": "60000"}})
	}
	all = cluster.Ensemble(t, o...)
	c = &chaos{t: t, voters: voters, began: time.Now(), nodes: all[:voters]}
	for _, node := range c.nodes {
		node.Lists(c.nodes...)
		if node.Kind() == cluster.Warren {
			node.Initialize()
		}
	}
	c.begin()
	return c, all
}

// writes has a write at each server acknowledged that serves, and returns the paths.
func (c *chaos) writes(nodes ...*cluster.Node) (paths []string) {
	c.t.Helper()
	for _, node := range nodes {
		cluster.Eventually(c.t, func() bool {
			conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
			if err != nil {
				return false
			}
			defer conn.Close()
			path, err := conn.Create("/grown-", nil, proto.ModePersistentSequential)
			if err == nil {
				paths = append(paths, path)
			}
			return err == nil && conn.CloseSession() == nil
		}, time.Minute, "no write by server %d (%s)", node.ID(), node.Kind())
	}
	return paths
}

// have waits until each server has the znodes.
func (c *chaos) have(paths []string, nodes ...*cluster.Node) {
	c.t.Helper()
	for _, node := range nodes {
		conn := wire.Open(c.t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
		require.NoError(c.t, conn.Sync("/"))
		for _, path := range paths {
			must.Do2(conn.GetData(path, false))(c.t, "%s at server %d", path, node.ID())
		}
		conn.Close()
	}
}

// names requires that the configuration that a server shows has exactly these servers.
func (c *chaos) names(node *cluster.Node, servers ...*cluster.Node) {
	c.t.Helper()
	conn := must.Do(wire.Dial(node.Addr(), wire.Options{}))(c.t)
	defer conn.Close()
	data, _ := conn.MustGetData(c.t, "/zookeeper/config", false)
	var want []string
	for _, s := range servers {
		want = append(want, fmt.Sprintf("server.%d=", s.ID()))
	}
	var got []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if id, _, found := strings.Cut(line, "="); found && strings.HasPrefix(line, "server.") {
			got = append(got, id+"=")
		}
	}
	require.Equal(c.t, want, got, "server %d", node.ID())
}

// TestGrowthByRestarts adds a server without reconfig: it follows without a vote while the lists of the others do not
// name it, and votes when they do. Clients write all the time.
func TestGrowthByRestarts(t *testing.T) {
	t.Parallel()
	growthByRestarts(t, of(cluster.Warren, 4)...)
}

func growthByRestarts(t *testing.T, kinds ...cluster.Kind) {
	c, all := growing(t, 3, kinds...)
	old, added := all[:3], all[3]
	paths := c.writes(old...)
	writers := startWriters(t, old)

	added.Lists(all...)
	added.Launch()
	added.WaitServing()
	require.Equal(t, "follower", added.Mode())
	c.names(added, all...)
	for _, node := range old {
		c.names(node, old...)
	}
	paths = append(paths, c.writes(added)...)
	leader := c.certainLeader()
	for _, node := range []*cluster.Node{added, leader} {
		if node.Kind() == cluster.Warren {
			require.Contains(t, node.Log(), "another server has a different list of servers")
		}
	}
	order := append(c.but(leader), leader)
	for i, node := range order {
		c.logf("restarting server %d with the new list", node.ID())
		node.Stop()
		node.Lists(all...)
		node.Launch()
		c.whole()
		added.WaitServing()
		paths = append(paths, c.writes(all...)...)
		for j, other := range order {
			if j <= i {
				c.names(other, all...)
			}
		}
	}
	for _, w := range writers {
		w.waitAfter(t, time.Now())
		w.end()
		require.NoError(t, w.failed)
	}
	c.have(paths, all...)

	for _, node := range all {
		require.NotContains(t, node.Log(), "allows a second leader")
	}

	// Now it votes: with one server less than all there is a quorum only if it counts, with two less there is none.
	one, two := old[0], old[1]
	one.Stop()
	paths = append(paths, c.writes(two, old[2], added)...)
	two.Kill()
	cluster.Eventually(t, func() bool { return old[2].Mode() == "" && added.Mode() == "" }, time.Minute,
		"two of four servers serve")
	one.Launch()
	two.Launch()
	for _, node := range all {
		node.WaitServing()
	}
	c.have(paths, all...)
}

// TestGrowthWithoutVote: servers that the others do not name serve, and decide nothing. The members go on without
// them, and they do not go on without the members.
func TestGrowthWithoutVote(t *testing.T) {
	t.Parallel()
	c, all := growing(t, 3, of(cluster.Warren, 5)...)
	old, added := all[:3], all[3:]
	before := map[*cluster.Node]string{}
	for _, node := range all {
		if slices.Contains(added, node) {
			node.Lists(all...)
			node.Launch()
		}
		node.WaitServing()
		before[node] = files(t, node)
	}
	paths := c.writes(all...)
	for _, node := range added {
		require.Equal(t, "follower", node.Mode())
		c.names(node, all...)
	}
	for _, node := range old {
		c.names(node, old...)
	}
	for _, node := range append(added, c.certainLeader()) {
		require.Contains(t, node.Log(), "allows it to elect a second leader", "lists that differ by two servers")
	}
	for _, node := range old { // a restart changes nothing of that
		node.Stop()
		node.Launch()
		node.WaitServing()
		c.names(node, old...)
		paths = append(paths, c.writes(node)...)
	}
	for _, node := range all {
		node.WaitServing()
		require.Equal(t, before[node], files(t, node), "without reconfig no server writes configurations")
	}
	for _, node := range added {
		node.Kill()
	}
	paths = append(paths, c.writes(old...)...)
	for _, node := range added {
		node.Launch()
		node.WaitServing()
	}
	c.have(paths, all...)
	old[0].Kill()
	old[1].Kill()
	cluster.Eventually(t, func() bool { return old[2].Mode() == "" }, time.Minute, "one of three members serves")
	for range 20 {
		for _, node := range append(added, old[2]) {
			require.NotEqual(t, "leader", node.Mode())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// files returns the names of the configurations in the folder of zoo.cfg, and the content of zoo.cfg.
func files(t *testing.T, node *cluster.Node) string {
	t.Helper()
	names := must.Glob(t, filepath.Join(node.Dir(), "zoo.cfg*"))
	return strings.Join(names, "\n") + "\n" + string(must.ReadFile(t, filepath.Join(node.Dir(), "zoo.cfg")))
}

// TestShrinkWithoutQuorum restarts the servers that are left of a lost quorum with a list of their own.
func TestShrinkWithoutQuorum(t *testing.T) {
	t.Parallel()
	c, all := growing(t, 5, of(cluster.Warren, 5)...)
	paths := c.writes(all...)
	c.have(paths, all...)
	for _, node := range all[2:] {
		node.Kill()
	}
	for _, node := range all[:2] {
		node.Stop()
		node.Lists(all[:2]...)
		node.Launch()
	}
	paths = append(paths, c.writes(all[:2]...)...)
	c.have(paths, all[:2]...)
	c.names(all[0], all[:2]...)
}

// TestLeaderOutOfView: a server whose list does not name the leader neither follows it nor leads.
func TestLeaderOutOfView(t *testing.T) {
	t.Parallel()
	leaderOutOfView(t, of(cluster.Warren, 3)...)
}

func leaderOutOfView(t *testing.T, kinds ...cluster.Kind) {
	var o []cluster.Options
	for _, kind := range kinds {
		o = append(o, cluster.Options{Kind: kind,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8"}})
	}
	all := cluster.Ensemble(t, o...)
	c := &chaos{t: t, voters: 3, began: time.Now(), nodes: all[1:]}
	one, two, three := all[0], all[1], all[2]
	one.Lists(one, two)
	for _, node := range all {
		if node.Kind() == cluster.Warren {
			node.Initialize()
		}
	}
	one.Launch()
	three.Launch()
	c.answers(one)
	c.answers(three)
	two.Launch()
	c.whole()
	paths := c.writes(two, three)
	if two.Mode() == "leader" {
		one.WaitServing() // servers 1 and 2 were quicker, and server 2 is in every list
		require.Equal(t, "follower", one.Mode())
		return
	}
	for range 30 {
		require.Equal(t, []string{"", "follower", "leader"}, []string{one.Mode(), two.Mode(), three.Mode()})
		time.Sleep(100 * time.Millisecond)
	}
	// With the right list it follows.
	one.Stop()
	one.Lists(all...)
	one.Launch()
	one.WaitServing()
	c.have(paths, one)
}
