package ensemble

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// What happens to directories by mistake, and is not one of the large scenes of histories_test.go.

// TestOlderCopyInOneMember restores an older copy in a member while the others go on: it joins without an election,
// and nothing is lost.
func TestOlderCopyInOneMember(t *testing.T) {
	t.Parallel()
	for name, epochs := range map[string]int{"of the same epoch": 0, "of an earlier epoch": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, of(cluster.Warren, 3)...)
			kept := c.creates("first", 3)
			node := c.nodes[c.certainLeader().ID()%3]
			node.Stop()
			dir := node.CopyData()
			node.Start()
			kept = append(kept, c.creates("since", sceneCreates)...)
			if epochs > 0 {
				kept = append(kept, c.eras("later", epochs)...)
			}
			node.Stop()
			node.PutData(dir)
			rest := c.among(c.but(node)...)
			g := rest.stands()
			node.Start()
			g.holds(time.Second)
			c.keeps(append(kept, c.creates("after", 3)...))
			c.same()
		})
	}
}

// TestMajorityRolledBack rolls the files of two of three servers back to a snapshot of the running machines, within
// one epoch. If the third runs on, its history goes on and nothing is lost. If it ended in order before the two have
// acknowledged something else, it stays outside.
func TestMajorityRolledBack(t *testing.T) {
	t.Parallel()
	for name, runsOn := range map[string]bool{"the third runs on": true, "the third was stopped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, of(cluster.Warren, 3)...)
			kept := c.creates("first", 3)
			third := c.certainLeader()
			two := c.among(c.but(third)...)
			putBack := two.copies()
			since := c.creates("since", sceneCreates)
			if !runsOn {
				third.Stop()
			}
			two.killEach()
			putBack()
			alone := func() bool { return !third.Serves() }
			cluster.Eventually(t, alone, time.Minute, "server %d serves alone", third.ID())
			two.begin()
			if runsOn {
				c.keeps(append(kept, append(since, c.creates("after", 3)...)...))
				c.same()
				return
			}
			kept = append(kept, two.creates("after", sceneCreates)...)
			scene{kinds: of(cluster.Warren, 3)}.comes(third, two, kept)
		})
	}
}

// TestAllRestored restores old copies of the same time in all members at once, as an operator does to have the old
// state: they serve it.
func TestAllRestored(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.eras("old", 1)
	c.end()
	putBack := c.copies()
	c.begin()
	undone := c.eras("since", 2)
	c.end()
	putBack()
	c.begin()
	kept = append(kept, c.creates("after", sceneCreates)...)
	c.keeps(kept)
	require.Equal(t, undone, c.lost(c.nodes[0], undone))
	c.again()
	c.keeps(kept)
	c.same()
}

// TestOwnDirectoryAfterAnother lets an ensemble go on twice from the same copies. Then a server with a directory of
// the one way meets a server that went the other way: only a checksum tells, because its meta.db is lost. It comes
// back with its own directory, without meta.db as well, so that its lineage says the same as before.
func TestOwnDirectoryAfterAnother(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	c.creates("first", 3)
	c.end()
	putBack := c.copies()
	goOn := func(name string, n int) (epoch int64, kept []string) {
		putBack()
		c.begin()
		kept = c.creates(name, n)
		epoch = c.epoch()
		c.end()
		return epoch, kept
	}
	node, other := c.nodes[0], c.nodes[2]
	var another, own string
	var kept []string
	for {
		epoch, _ := goOn("one", 12)
		another = node.CopyData()
		var same int64
		if same, kept = goOn("two", 3); same == epoch { // with no election more than the other
			own = node.CopyData()
			break
		}
	}
	put := func(dir string) {
		node.PutData(dir)
		require.NoError(t, os.Remove(filepath.Join(node.DataDir(), "version-2", "meta.db")))
		node.Launch()
	}
	put(another)
	other.Launch()
	c.answers(other)
	c.among(other).showStrangers(node)
	require.Contains(t, c.zabState(other).Strangers[0].Reason, "is another one")
	node.Kill()
	put(own)
	two := c.among(node, other)
	two.keeps(append(kept, two.creates("after", 3)...))
	c.nodes[1].Start()
	c.keeps(kept)
	c.same()
}

// TestServersConcedeTogether gives one of five voters in groups the directory of another ensemble with later epochs,
// two are new, and one is down. The new ones vote for the first, until both change their votes: only together with
// both is the last one a quorum.
func TestServersConcedeTogether(t *testing.T) {
	t.Parallel()
	groups := map[string]string{"group.1": "1:2", "group.2": "3", "group.3": "4:5", "weight.1": "1", "weight.2": "2",
		"weight.3": "1", "weight.4": "1", "weight.5": "1"}
	there := newScene(t, of(cluster.Warren, 3)...)
	there.eras("foreign", 4)
	there.end()
	c := newSceneWith(t, groups, of(cluster.Warren, 5)...)
	kept := c.creates("kept", 5)
	require.Less(t, c.epoch(), int64(5))
	c.end()
	c.nodes[0].PutData(there.nodes[0].CopyData())
	for _, node := range c.nodes[3:] {
		node.Wipe()
		node.Initialize()
	}
	foreign, quorum := c.nodes[0], c.among(c.nodes[2:]...)
	held := foreign.Held()
	foreign.Launch()
	quorum.launchEach()
	quorum.keeps(append(kept, quorum.creates("after", 3)...))
	require.False(t, foreign.Serves())
	require.Equal(t, held, foreign.Held())
}

// TestDiskExchanged exchanges the disks of two members: neither starts, and both say why. They start when the disks
// are back.
func TestDiskExchanged(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("first", sceneCreates)
	c.end()
	a, b := c.nodes[1], c.nodes[2]
	disks := map[*cluster.Node]string{a: a.CopyData(), b: b.CopyData()}
	a.PutData(disks[b])
	b.PutData(disks[a])
	refusedAsOthers(t, map[*cluster.Node]int{a: b.ID(), b: a.ID()})
	a.PutData(disks[a])
	b.PutData(disks[b])
	c.begin()
	c.keeps(kept)
	c.same()
}

// TestRenumbered gives the members other ids with the same directories: none starts. When meta.db is removed, as the
// message says, they serve what they had.
func TestRenumbered(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.eras("first", 1)
	c.end()
	owners := map[*cluster.Node]int{}
	for _, node := range c.nodes {
		owners[node] = node.ID()
		node.Renumber(node.ID()%3 + 1)
	}
	cluster.Group(c.nodes...)
	refusedAsOthers(t, owners)
	for _, node := range c.nodes {
		require.NoError(t, os.Remove(filepath.Join(node.DataDir(), "version-2", "meta.db")))
	}
	c.begin()
	c.keeps(append(kept, c.creates("after", 3)...))
	c.again()
	c.keeps(kept)
	c.same()
}

// refusedAsOthers starts servers on the directories of others: each ends with the exit code of data directories, and
// names the owner.
func refusedAsOthers(t *testing.T, owners map[*cluster.Node]int) {
	t.Helper()
	for node, owner := range owners {
		held := node.Held()
		node.Launch()
		require.Equal(t, 3, node.ExitCode(), "server %d", node.ID())
		require.Contains(t, node.Log(), fmt.Sprintf("is that of server %d, this is server %d", owner, node.ID()))
		require.Equal(t, held, node.Held())
	}
}

// TestInitializeWhereThereIsData leaves the file initialize beside databases, in one member and in all: nothing
// happens to them.
func TestInitializeWhereThereIsData(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprint(members, " of 3"), func(t *testing.T) {
			t.Parallel()
			c := newScene(t, of(cluster.Warren, 3)...)
			kept := c.creates("first", sceneCreates)
			some := c.among(c.nodes[3-members:]...)
			some.end()
			for _, node := range some.nodes {
				node.Initialize()
			}
			some.begin()
			c.keeps(append(kept, c.creates("after", 3)...))
			for _, node := range some.nodes {
				require.NoFileExists(t, filepath.Join(node.DataDir(), "initialize"))
			}
			c.same()
		})
	}
}

// TestTwoServersWithOneID starts a second server with the id of a follower, on an empty directory and on a copy. What
// is acknowledged meanwhile is on the other members, and on all when the second server is gone. With the largest id
// it gets through to the leader, which then warns; with the smallest it is never called back, because the others call
// the address that they know.
func TestTwoServersWithOneID(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		id     int
		copied bool
	}{
		{"largest with an empty directory", 3, false},
		{"largest with a copy", 3, true},
		{"smallest with a copy", 1, true},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, of(cluster.Warren, 3)...)
			kept := c.creates("first", 3)
			node := c.nodes[one.id-1]
			rest := c.among(c.but(node)...)
			node.Stop()
			leader := rest.certainLeader()
			twin := node.Twin()
			if one.copied {
				twin.PutData(node.CopyData())
			}
			node.Start()
			kept = append(kept, rest.creates("second", 2)...)
			g := rest.stands()
			twin.Launch()
			c.answers(twin)
			for w := cluster.NewWatch(); w.Elapsed() < sceneWatched; {
				kept = append(kept, rest.creates(fmt.Sprintf("during-%d", len(kept)), 4)...)
			}
			g.holds(time.Second)
			rest.keeps(kept)
			warned := strings.Count(leader.Log(), "two servers have the same id")
			if one.id == 3 {
				assert.Equal(t, 1, warned, "in the log of %d, which leads", leader.ID())
			} else {
				assert.Zero(t, warned)
				assert.False(t, twin.Serves())
			}
			twin.Kill()
			c.keeps(append(kept, c.creates("after", 3)...))
			c.same()
		})
	}
}

// TestLoneOldLeader lets a leader log what no other server has, and come back after the others have gone on: what it
// logged alone is cut off, and it joins without an election.
func TestLoneOldLeader(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("first", 3)
	leader := c.certainLeader()
	rest := c.among(c.but(leader)...)
	conn := c.client(leader)
	defer conn.Close()
	for _, node := range rest.nodes {
		node.Pause()
	}
	var alone []wire.Request
	for i := range 5 {
		alone = append(alone, wire.Create(fmt.Sprintf("/alone-%d", i), nil, wire.OpenACL, proto.ModePersistent))
	}
	conn.SendAll(alone)
	all := func() bool { return logged(t, leader, "/alone-4") }
	cluster.Eventually(t, all, 3*time.Second, "the leader logs nothing")
	leader.Kill()
	for _, node := range rest.nodes { // what they were sent is lost with them
		node.Kill()
	}
	rest.begin()
	kept = append(kept, rest.creates("since", sceneCreates)...)
	g := rest.stands()
	leader.Start()
	g.holds(time.Second)
	c.keeps(append(kept, c.creates("after", 3)...))
	for _, node := range c.nodes {
		assert.Len(t, c.lost(node, []string{"/alone-0", "/alone-4"}), 2, "server %d", node.ID())
	}
	require.False(t, logged(t, leader, "/alone-4"), "what the server logged alone is still in its log")
	c.same()
}

// logged reports whether a path is in a log of a server.
func logged(t *testing.T, node *cluster.Node, path string) bool {
	t.Helper()
	logs := must.Glob(t, filepath.Join(node.DataDir(), "version-2", "log.*"))
	for _, name := range logs {
		content := must.ReadFile(t, name)
		if bytes.Contains(content, []byte(path)) {
			return true
		}
	}
	return false
}
