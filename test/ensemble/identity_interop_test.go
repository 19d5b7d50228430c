//go:build interop

package ensemble

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// forgetful is an ensemble of three voters and an observer. The first server becomes one in Java, which hands on no
// identity, and leads. The other two lose their disks under it, one after the other. Then it stops, and they go on
// with an identity that they have drawn anew.
func forgetful(t *testing.T, observerIsAway bool) (c *chaos, observer *cluster.Node, kept []string) {
	t.Helper()
	c = &chaos{t: t, rand: rand.New(rand.NewPCG(1, 1)), voters: 3, began: time.Now(), admin: map[int]int{}}
	var o []cluster.Options
	for i := range 4 {
		settings := map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8"}
		if i > 0 { // Debian's server in Java has no admin server
			c.admin[i+1] = adminSettings(t, settings)
		}
		o = append(o, cluster.Options{Observer: i == 3, Settings: settings})
	}
	c.launch(o)
	java, second, third, observer := c.nodes[0], c.nodes[1], c.nodes[2], c.nodes[3]
	kept = c.creates("all", sceneCreates)
	identity := c.identity(observer)

	java.Stop()
	java.Become(cluster.ZooKeeper)
	c.up(1)
	second.Stop()
	kept = append(kept, c.among(third).creates("not-second", sceneCreates)...)
	if observerIsAway {
		observer.Stop()
	}
	third.Stop() // the one in Java has more than the second, and leads
	c.up(2)
	require.Equal(t, java, c.among(java, second).certainLeader())
	for _, node := range []*cluster.Node{third, second} {
		if node.Running() {
			node.Stop()
		}
		node.Wipe()
		c.up(node.ID())
		require.Equal(t, java, c.among(c.nodes[:3]...).certainLeader())
	}
	java.Stop()
	second.WaitServing()
	third.WaitServing()
	kept = append(kept, c.among(second, third).creates("not-java", sceneCreates)...)
	require.NotEqual(t, identity, c.identity(third), "it was remembered, so nothing is tried")
	return c, observer, kept
}

// identity returns the identity that a Warren server states in zabstate.
func (c *chaos) identity(node *cluster.Node) string {
	c.t.Helper()
	var own string
	cluster.Eventually(c.t, func() bool {
		own = c.zabState(node).Ensemble
		return own != ""
	}, time.Minute, "server %d knows no identity", node.ID())
	return own
}

// TestIdentityIsLostUnderJava: an observer that knew the former identity and has followed all the time is no stranger
// to those that have drawn another one.
func TestIdentityIsLostUnderJava(t *testing.T) {
	c, observer, kept := forgetful(t, false)
	observer.WaitServing()
	require.Equal(t, c.identity(c.nodes[2]), c.identity(observer))
	c.up(1)
	c.whole()
	c.keeps(kept)
	for _, node := range c.nodes[1:] {
		require.Empty(t, c.zabState(node).Strangers, "server %d", node.ID())
	}
}

// TestIdentityIsLostWhileAServerIsAway: one that was away all the time cannot tell whether this is its ensemble. It
// stays outside and says why, until an operator gives its directory up.
func TestIdentityIsLostWhileAServerIsAway(t *testing.T) {
	c, observer, kept := forgetful(t, true)
	observer.Launch()
	c.answers(observer)
	cluster.Eventually(t, func() bool { return c.zabState(observer).Outside }, hangGuard, "it does not stay outside")
	require.Contains(t, c.zabState(observer).Reason, "unless ZooKeeper servers have led")
	observer.Stop()
	must.Output(t, exec.Command(cluster.Binary(t), "adopt", filepath.Join(observer.Dir(), "zoo.cfg"), "--yes",
		"--servers", c.nodes[1].Addr()+","+c.nodes[2].Addr()))
	c.up(1, 4)
	c.keeps(kept)
}
