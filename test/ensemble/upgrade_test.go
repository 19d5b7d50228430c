package ensemble

import (
	"crypto/sha256"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

var olderFlag = flag.String("ensemble.older", "", "warren binary of an older version, for the tests of upgrades")

// TestUpgradeAndBack replaces the servers of an older version by this one, one after the other, and then goes back,
// while clients write, watch and keep ephemerals. Servers of both versions lead servers of the other one, are killed,
// and lose their disks. No acknowledged write is lost, no session ends, and all servers have the same tree.
func TestUpgradeAndBack(t *testing.T) {
	if *olderFlag == "" {
		t.Skip("takes a binary of an older version: git worktree add /tmp/older COMMIT && (cd /tmp/older && " +
			"go build -o /tmp/warren-older ./cmd/warren); then -ensemble.older=/tmp/warren-older")
	}
	require.False(t, sameContent(t, *olderFlag, cluster.Binary(t)), "the binary is of this version")
	seed := printSeed(t)
	c := &chaos{t: t, voters: *serversFlag, began: time.Now()}
	c.seed(seed)
	var o []cluster.Options
	reconfig := c.rand.IntN(2) == 0
	c.logf("reconfigEnabled=%v", reconfig)
	for range c.voters {
		o = append(o, cluster.Options{Binary: *olderFlag, Reconfig: reconfig,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8",
				"maxSessionTimeout": "60000", "snapCount": "2000"}})
	}
	c.launch(o)
	c.fillTree(halfwayZnodes)
	c.judge(c.load(seed, func() {
		c.replaceAll("this version", "", false)
		c.killAll()
		c.replaceAll("the older version", *olderFlag, true)
		c.killAll()
	}))
}

func sameContent(t *testing.T, names ...string) bool {
	t.Helper()
	var sums [2][sha256.Size]byte
	for i, name := range names {
		content := must.ReadFile(t, name)
		sums[i] = sha256.Sum256(content)
	}
	return sums[0] == sums[1]
}

// replaceAll lets one server after the other run a binary, the leader first or last. Between two of them something
// happens to the mixed ensemble.
func (c *chaos) replaceAll(version, binary string, leaderFirst bool) {
	c.t.Helper()
	left := slices.Clone(c.nodes)
	for len(left) > 0 {
		c.sleep(300, 1000)
		leader := c.certainLeader()
		i := slices.IndexFunc(left, func(node *cluster.Node) bool { return (node == leader) == leaderFirst })
		node := left[max(i, 0)]
		c.logf("server %d becomes %s (leader: %v)", node.ID(), version, node == leader)
		node.Stop()
		node.Use(binary)
		node.Launch()
		c.whole()
		left = slices.DeleteFunc(left, func(one *cluster.Node) bool { return one == node })
		c.sleep(100, 500)
		if len(left) > 0 {
			c.kill()
			c.wipe()
		}
	}
	for _, node := range c.nodes {
		require.True(c.t, node.Serves(), "server %d", node.ID())
	}
}
