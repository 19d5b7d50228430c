package ensemble

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// outageCost is how much longer an election may take without a name server than with one. A single question that a
// server waits for takes twice as long.
const outageCost = resolving / 2

// resolving is how long a process waits for a name server.
const resolving = 20 * time.Second

// newNamed brings up n servers that know each other by name. Three of them vote.
func newNamed(t *testing.T, n int, configure func(id int, o *cluster.Options)) (*chaos, *cluster.NameServer) {
	t.Helper()
	s := cluster.NewNameServer(t, n)
	resolve := string(must.ReadFile(t, s.File)) + fmt.Sprintf("options timeout:%.0f attempts:1\n", resolving.Seconds())
	require.NoError(t, os.WriteFile(s.File, []byte(resolve), 0o644))
	c := &chaos{t: t, voters: 3, began: time.Now()}
	c.seed(1)
	var o []cluster.Options
	for id := 1; id <= n; id++ {
		one := cluster.Options{Name: cluster.NameOf(id), ResolvConf: s.File,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8"}}
		configure(id, &one)
		o = append(o, one)
	}
	c.nodes = cluster.Ensemble(t, o...)
	c.begin()
	for _, node := range c.nodes { // the addresses are on the disk a moment after the servers have learned them
		cluster.Eventually(t, func() bool {
			text, err := os.ReadFile(filepath.Join(node.DataDir(), "version-2", meta.FileName))
			return err == nil && !slices.ContainsFunc(c.nodes, func(other *cluster.Node) bool {
				return !bytes.Contains(text, []byte(cluster.NameOf(other.ID())+" 127.0.0.1\n"))
			})
		}, time.Minute, "server %d keeps no addresses", node.ID())
	}
	return c, s
}

// killed kills the leader and returns the time until another server has had a write acknowledged.
func (c *chaos) killed() (leader *cluster.Node, took time.Duration) {
	c.t.Helper()
	leader = c.certainLeader()
	rest := c.but(leader)
	watch := cluster.NewWatch()
	leader.Kill()
	cluster.Eventually(c.t, func() bool { return c.wrote(rest[0]) || c.wrote(rest[1]) }, time.Minute,
		"no write after the end of server %d", leader.ID())
	return leader, watch.Elapsed()
}

// wrote reports whether a server acknowledges a write.
func (c *chaos) wrote(node *cluster.Node) bool {
	conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: time.Second})
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = conn.Create("/named-", nil, proto.ModePersistentSequential)
	return err == nil && conn.CloseSession() == nil
}

// back starts a server and returns the time until it serves.
func (c *chaos) back(node *cluster.Node) time.Duration {
	c.t.Helper()
	watch := cluster.NewWatch()
	node.Start()
	return watch.Elapsed()
}

// TestNameServerGoesAway kills the leader while the name server is silent, or fails, and restarts servers meanwhile.
// An ensemble that is known by names loses no more time than with a name server.
func TestNameServerGoesAway(t *testing.T) {
	c, s := newNamed(t, 3, func(id int, o *cluster.Options) { o.Settings["clientPortAddress"] = cluster.NameOf(id) })
	leader, usual := c.killed()
	start := c.back(leader)
	c.logf("with a name server: %v to a write, %v to start", usual, start)
	for _, m := range []cluster.NameMode{cluster.Mute, cluster.Failing} {
		s.Become(m)
		leader, took := c.killed()
		c.logf("mode %d: %v to a write", m, took)
		require.Less(t, took, usual+outageCost, fmt.Sprint("mode ", m))
		again := c.back(leader)
		c.logf("mode %d: %v to start", m, again)
		require.Less(t, again, start+outageCost, fmt.Sprint("mode ", m))
		follower := c.but(c.certainLeader())[0]
		watch := cluster.NewWatch()
		follower.Stop()
		require.Less(t, watch.Elapsed(), outageCost, fmt.Sprint("mode ", m))
		again = c.back(follower)
		c.logf("mode %d: %v to start a follower", m, again)
		require.Less(t, again, start+outageCost, fmt.Sprint("mode ", m))
		s.Become(cluster.Answering)
	}
}

// TestObserverWithoutANameServer kills the leader while the name server is silent: an observer finds the next leader
// as fast as with a name server, and so it does after a restart of its own.
func TestObserverWithoutANameServer(t *testing.T) {
	c, s := newNamed(t, 4, func(id int, o *cluster.Options) {
		if id == 4 {
			observing(o)
		}
	})
	observer := c.nodes[3]
	lost := func() (took time.Duration) {
		leader, watch := c.certainLeader(), cluster.NewWatch()
		leader.Kill()
		cluster.Eventually(t, func() bool { return c.wrote(observer) }, time.Minute, "no write by way of the observer")
		took = watch.Elapsed()
		c.back(leader)
		return took
	}
	usual := lost()
	observer.Stop()
	start := c.back(observer)
	c.logf("with a name server: %v to a write, %v to start", usual, start)
	s.Become(cluster.Mute)
	took := lost()
	observer.Stop()
	again := c.back(observer)
	c.logf("without: %v to a write, %v to start", took, again)
	require.Less(t, took, usual+outageCost)
	require.Less(t, again, start+outageCost)
}

// TestServerMoves moves servers to other addresses, as pods do: the others find each at its new one.
func TestServerMoves(t *testing.T) {
	c, s := newNamed(t, 3, func(int, *cluster.Options) {})
	for i, node := range c.nodes {
		node.Stop()
		s.Move(node.ID(), fmt.Sprintf("127.0.0.%d", 2+i))
		took := c.back(node)
		c.logf("server %d at its new address after %v", node.ID(), took)
		_, took = c.killed()
		c.logf("%v to a write", took)
		for _, node := range c.nodes {
			if !node.Running() {
				node.Start()
			}
		}
	}
}
