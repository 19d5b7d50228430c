//go:build interop

package ensemble

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// TestJavaReturnsWithALaterPromise lets a server in Java come back that has promised an epoch which no leader has
// reached. It stays outside, and the others serve, whatever kind they are of: a follower in Java does not take the
// epoch of its leader if it is below its promise, and no leader can begin another one for it. Elections take it in.
// See TestReturnWithALaterPromise for a Warren server, which waits for none.
func TestJavaReturnsWithALaterPromise(t *testing.T) {
	for _, others := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			c := newScene(t, cluster.ZooKeeper, others, others) // it has the weakest claim
			kept := c.creates("first", 3)
			java := c.nodes[0]
			rest := c.among(c.but(java)...)
			java.Stop()
			kept = append(kept, rest.creates("away", 3)...)
			epoch, leader := rest.epoch(), rest.certainLeader()
			const ahead = 2
			file := filepath.Join(java.DataDir(), "version-2", "acceptedEpoch")
			require.NoError(t, os.WriteFile(file, []byte(strconv.FormatInt(epoch+ahead, 10)), 0o644))
			java.Launch()
			cluster.Eventually(t, func() bool {
				return strings.Count(java.Log(), "is less than accepted epoch") > 2
			}, time.Minute, "the server in Java does not come to the leader")
			kept = append(kept, rest.creates("outside", 3)...)
			require.Equal(t, leader.ID(), rest.certainLeader().ID())
			require.Equal(t, epoch, rest.epoch(), "the leader stays")
			require.False(t, java.Serves())

			for took := 0; !java.Serves(); took++ {
				require.Less(t, took, ahead)
				leader := rest.certainLeader()
				leader.Stop()
				leader.Launch()
				rest.certainLeader()
				leader.WaitServing()
				deadline := time.Now().Add(sceneWatched)
				for !java.Serves() && time.Now().Before(deadline) {
					time.Sleep(100 * time.Millisecond)
				}
			}
			require.GreaterOrEqual(t, c.epoch(), epoch+ahead)
			kept = append(kept, c.creates("after", 3)...)
			c.keeps(kept)
			c.same()
		})
	}
}
