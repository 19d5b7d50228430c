package ensemble

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// Ensembles in which the voters that have a database are no quorum.

const noQuorumOfDatabases = "the voters that have a database are no quorum"

// areStuck waits until the Warren servers among some say everywhere that no leader can be elected for lack of
// databases, why, and what to do.
func (c *chaos) areStuck(nodes []*cluster.Node, blank int, why, wayOut string) {
	t := c.t
	t.Helper()
	why = "no leader is elected: " + noQuorumOfDatabases + "; " + why
	for _, node := range nodes {
		if node.Kind() != cluster.Warren {
			continue
		}
		c.answers(node)
		cluster.Eventually(t, func() bool { return c.zabState(node).WaitsFor == why }, time.Minute,
			"server %d does not say %q", node.ID(), why)
		z := c.zabState(node)
		require.True(t, z.Stuck)
		assert.Equal(t, wayOut, z.WayOut)
		status, text := c.fetch(node, "/readyz")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, text, why+"\nway out: "+wayOut+"\n")
		_, text = c.fetch(node, "/metrics")
		assert.True(t, strings.Contains(text, fmt.Sprintf("\nwarren_zab_blank_voters %d\n", blank)), "the gauge")
		assert.Contains(t, c.tells(node, "status"), "does not serve: "+why)
		text = c.tells(node, "doctor")
		assert.Regexp(t, `(?m)^critical +databases-missing +`, text)
		assert.Contains(t, text, wayOut)
		assert.NotContains(t, text, "start the servers that are missing")
		cluster.Eventually(t, func() bool {
			return strings.Contains(node.Log(), "no leader can be elected: the voters that have a database are no quorum")
		}, time.Minute, "server %d does not warn", node.ID())
	}
}

// TestTwoOfThreeDisksAreLost takes the disks of two servers of three away. The servers say that no leader can be
// elected, and that they serve no client, until the disks are back.
func TestTwoOfThreeDisksAreLost(t *testing.T) {
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("kept", sceneCreates)
	c.killEach()
	var disks []string
	for _, node := range c.nodes[:2] {
		disks = append(disks, node.CopyData())
		node.Wipe()
	}
	began := len(c.nodes[0].Log())
	for _, node := range c.nodes[:2] {
		node.Launch()
	}
	c.areStuck(c.nodes[:2], 2, "servers 1, 2 without a database; server 3 not heard of", "start server 3, with its data "+
		"if it has any; if disks are lost for good, run warren recover on a server that has data")
	c.nodes[2].Launch()
	c.areStuck(c.nodes, 2, "server 3 with data; servers 1, 2 without a database", "bring the disks of servers 1, 2 back; if "+
		"they are lost for good, run warren recover on a server that has data")
	assert.Contains(t, c.nodes[0].Log()[began:], " listens for clients on "+c.nodes[0].Addr())
	assert.NotContains(t, c.nodes[0].Log()[began:], " serves clients on ")
	c.nodes[0].Kill()
	text, _ := exec.Command(cluster.Binary(t), "doctor", "--config", filepath.Join(c.nodes[0].Dir(), "zoo.cfg")).CombinedOutput()
	assert.Regexp(t, `(?m)^warning +blank +\S+version-2$`, string(text))

	c.nodes[1].Kill()
	for i, node := range c.nodes[:2] {
		node.PutData(disks[i])
		node.Launch()
	}
	c.keeps(kept)
	for _, node := range c.nodes {
		assert.Empty(t, c.zabState(node).WaitsFor)
		cluster.Eventually(t, func() bool {
			return strings.LastIndex(node.Log(), " serves clients on ") > strings.LastIndex(node.Log(), " listens for clients on ")
		}, time.Minute,
			"server %d does not say that it serves", node.ID())
	}
}
