//go:build interop

package ensemble

import (
	"fmt"
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

// TestGrowthByRestartsMixed is TestGrowthByRestarts with servers in Java among the members, as the server that is
// added, and with those alone.
func TestGrowthByRestartsMixed(t *testing.T) {
	const ours, java = cluster.Warren, cluster.ZooKeeper
	for _, kinds := range [][]cluster.Kind{
		{ours, ours, ours, java}, {java, java, java, ours}, {java, ours, java, ours}, {ours, java, ours, java},
		{java, java, java, java},
	} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) { growthByRestarts(t, kinds...) })
	}
}

// TestLeaderOutOfViewMixed is TestLeaderOutOfView with servers of both kinds.
func TestLeaderOutOfViewMixed(t *testing.T) {
	const ours, java = cluster.Warren, cluster.ZooKeeper
	for _, kinds := range [][]cluster.Kind{{ours, java, java}, {java, ours, ours}, {ours, java, ours}} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) { leaderOutOfView(t, kinds...) })
	}
}
