package ensemble

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// Ensembles in which no history has a quorum, or only one of several.

// TestHalfOfEach lets three of five servers begin anew and go on, and then two of them meet two of the old ones while
// the fifth is down: no history has a quorum, so none of the four serves, and all keep their files. With the fifth
// the new history has one.
func TestHalfOfEach(t *testing.T) {
	t.Parallel()
	all := newScene(t, of(cluster.Warren, 5)...)
	all.eras("old", 2)
	all.end()
	fresh, old := all.among(all.nodes[:3]...), all.among(all.nodes[3:]...)
	for _, node := range fresh.nodes {
		node.Wipe()
		node.Initialize()
	}
	fresh.begin()
	kept := fresh.creates("new", sceneCreates)
	fresh.end()

	four := all.among(all.but(all.nodes[2])...)
	before := four.held()
	four.stalls()
	four.unchanged(before)
	all.among(all.nodes[:2]...).showStrangers(old.nodes...)
	old.showStrangers(all.nodes[:2]...)
	all.nodes[2].Launch()
	fresh.keeps(kept)
	fresh.stands().holds(sceneWatched, old.nodes...)
	old.unchanged(before)
	fresh.same()
}

// TestSplitAndJoined lets the two parts of an ensemble go on separately, by configuration, and then names all servers
// to all again. Of 3 and 3 servers neither is a quorum of 6, and none serves; of 3 and 2 the three serve, and the two
// stay outside.
func TestSplitAndJoined(t *testing.T) {
	t.Parallel()
	t.Run("3 and 3", func(t *testing.T) {
		t.Parallel()
		all, parts, kept := split(t, 3, 3)
		before := all.held()
		all.stalls()
		all.unchanged(before)
		parts[0].showStrangers(parts[1].nodes...)
		parts[1].showStrangers(parts[0].nodes...)
		all.rejoin(parts[0], kept[0])
	})
	t.Run("3 and 2", func(t *testing.T) {
		t.Parallel()
		all, parts, kept := split(t, 3, 2)
		before := all.held()
		all.launchEach()
		parts[0].keeps(kept[0])
		for _, node := range parts[1].nodes {
			all.answers(node)
		}
		parts[0].stands().holds(sceneWatched, parts[1].nodes...)
		parts[1].unchanged(before)
		for _, node := range parts[1].nodes {
			all.showsOutside(node, parts[0].certainLeader())
		}
		parts[0].keeps(parts[0].creates("after", 3))
	})
}

// split returns an ensemble that is down after a time in which its parts were ensembles of their own, and what each
// part has acknowledged then.
func split(t *testing.T, sizes ...int) (all *chaos, parts []*chaos, kept [][]string) {
	t.Helper()
	n := 0
	for _, size := range sizes {
		n += size
	}
	all = newScene(t, of(cluster.Warren, n)...)
	all.eras("common", 1)
	all.end()
	rest := all.nodes
	for i, size := range sizes {
		part := all.among(rest[:size]...)
		rest = rest[size:]
		cluster.Group(part.nodes...)
		part.begin()
		kept = append(kept, part.eras("part", i+1))
		part.end()
		parts = append(parts, part)
	}
	cluster.Group(all.nodes...)
	return all, parts, kept
}

// rejoin lets a part go on, and the others adopt its history and come back one at a time.
func (c *chaos) rejoin(part *chaos, kept []string) {
	c.t.Helper()
	c.killEach()
	for n := len(part.nodes); n <= len(c.nodes); n++ {
		now := c.among(c.nodes[:n]...)
		now.killEach()
		cluster.Group(now.nodes...)
		if last := c.nodes[n-1]; n > len(part.nodes) {
			must.Output(c.t, exec.Command(cluster.Binary(c.t), "adopt", last.DataDir(), "--yes"))
		}
		now.begin()
		now.keeps(kept)
	}
	c.keeps(c.creates("joined", 3))
	c.same()
}

// held is what each server holds on its disk.
func (c *chaos) held() map[int]map[string]string {
	c.t.Helper()
	held := map[int]map[string]string{}
	for _, node := range c.nodes {
		held[node.ID()] = node.Held()
	}
	return held
}

// unchanged asserts that the servers hold what they held.
func (c *chaos) unchanged(before map[int]map[string]string) {
	c.t.Helper()
	for _, node := range c.nodes {
		assert.Equal(c.t, before[node.ID()], node.Held(), "the files of server %d", node.ID())
	}
}

// stalls starts servers, of which none serves in the time in which the ensemble is watched.
func (c *chaos) stalls() {
	c.t.Helper()
	c.launchEach()
	for _, node := range c.nodes {
		c.answers(node)
	}
	served := map[int]bool{}
	for w := cluster.NewWatch(); w.Elapsed() < sceneWatched; {
		for _, node := range c.nodes {
			if node.Serves() {
				served[node.ID()] = true
			}
		}
	}
	assert.Empty(c.t, served, "servers that serve without a quorum of their history")
}
