//go:build interop

package ensemble

import (
	"flag"
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

var keptKills = flag.Int("ensemble.kept", 7, "kills of TestKilledLeaderBeside")

// TestKilledLeaderBeside counts the same with default settings, and beside it with ZooKeeper.
func TestKilledLeaderBeside(t *testing.T) {
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		t.Logf("%v, %d kills: %v", kind, *keptKills, keptAtKills(t, kind, *keptKills, nil))
	}
}
