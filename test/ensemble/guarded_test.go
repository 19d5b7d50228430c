//go:build interop

package ensemble

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// mixes are ensembles in which either kind has the majority.
var mixes = [][]cluster.Kind{
	{cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
	{cluster.Warren, cluster.Warren, cluster.ZooKeeper},
}

// TestGuardedMixedEnsembles lets leaders crash and stop in ensembles of both kinds whose servers know each other by certificates,
// by a password, or by both, until each kind has led.
func TestGuardedMixedEnsembles(t *testing.T) {
	for _, guarded := range []struct {
		name     string
		settings map[string]string
	}{{"TLS 1.2", overTLS}, {"TLS 1.3", overTLS13}, {"SASL", bySASL}, {"SASL over TLS", bothWays}} {
		for _, kinds := range mixes {
			t.Run(fmt.Sprint(guarded.name, kinds), func(t *testing.T) {
				c, seed := newConfigured(t, newGuard(t).configure(guarded.settings), kinds...)
				c.underLoad(seed, func() { c.changeLeaders(3) })
			})
		}
	}
}

// changeLeaders crashes and stops leaders, a few times and until each kind has led.
func (c *chaos) changeLeaders(rounds int) {
	c.t.Helper()
	kinds := map[cluster.Kind]bool{}
	for _, node := range c.nodes {
		kinds[node.Kind()] = false
	}
	both := func() bool { return !slices.Contains(slices.Collect(maps.Values(kinds)), false) }
	for round := 0; round < rounds || round < rounds+8 && !both(); round++ {
		leader := c.leader()
		kinds[leader.Kind()] = true
		c.logf("leader is %d (%s)", leader.ID(), leader.Kind())
		c.sleep(300, 800)
		if round%2 == 0 {
			c.crash(leader)
		} else {
			leader.Stop()
			c.sleep(50, 300)
			leader.Launch()
			c.whole()
		}
	}
	require.True(c.t, both(), "kinds that have led: %v", kinds)
}

// TestGuardIsSwitchedOnUnderLoad brings mixed ensembles from nothing to a guard, one server and one setting at a time, the way
// ZooKeeper's guide says: no write is lost, no session ends, and at every step either kind may lead.
func TestGuardIsSwitchedOnUnderLoad(t *testing.T) {
	for _, guarded := range []struct {
		name  string
		steps []map[string]string
	}{
		{"TLS", []map[string]string{{"portUnification": "true"}, {"sslQuorum": "true"}, {"portUnification": "false"}}},
		{"SASL", []map[string]string{{"quorum.auth.enableSasl": "true"}, {"quorum.auth.learnerRequireSasl": "true"}, {"quorum.auth.serverRequireSasl": "true"}}},
	} {
		for _, kinds := range mixes {
			t.Run(fmt.Sprint(guarded.name, kinds), func(t *testing.T) {
				g := newGuard(t)
				c, seed := newConfigured(t, g.configure(nil), kinds...)
				c.underLoad(seed, func() {
					for _, step := range guarded.steps {
						for _, node := range c.nodes {
							c.logf("server %d (%s): %v", node.ID(), node.Kind(), step)
							g.restart(c, node, step)
						}
						c.changeLeaders(1)
					}
				})
			})
		}
	}
}
