//go:build interop

package ensemble

import (
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

// TestConnectWhileTheLeaderIsKilledBeside counts the same with default settings, and beside it with ZooKeeper.
func TestConnectWhileTheLeaderIsKilledBeside(t *testing.T) {
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		refused, connected, longest := connectsAtKills(t, kind, 6, nil)
		t.Logf("%v: %d refused, %d connected, the last after %v", kind, refused, connected, longest)
	}
}
