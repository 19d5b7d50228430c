//go:build interop

package ensemble

import (
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

// TestNewEnsembleWithOneJavaServer starts a new ensemble of one server in Java, which does not say that it is new,
// and two Warren servers. They wait, and say for what; with the files that they ask for the ensemble begins.
func TestNewEnsembleWithOneJavaServer(t *testing.T) {
	c := newSceneOf(t, nil, cluster.ZooKeeper, cluster.Warren, cluster.Warren)
	c.launchEach()
	c.areStuck(c.nodes, 2, "servers 2 and 3 have no database, server 1 has an empty tree",
		"if the ensemble is new and has "+
			"ZooKeeper servers, put a file initialize into dataDir of servers 2 and 3 and restart them")
	for _, node := range c.nodes[1:] {
		node.Kill()
		node.Initialize()
		node.Launch()
	}
	c.keeps(c.creates("new", sceneCreates))
}
