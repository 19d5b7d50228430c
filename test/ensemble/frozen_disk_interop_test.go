//go:build interop

package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestFrozenDiskOfAMixedEnsemblesLeader freezes the file system of a leader of the project's own, under load, with
// followers in Java, which no handover reaches: another server is elected, and nothing that was acknowledged is lost.
func TestFrozenDiskOfAMixedEnsemblesLeader(t *testing.T) {
	for _, kinds := range [][]cluster.Kind{
		{cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
		{cluster.ZooKeeper, cluster.Warren, cluster.Warren},
	} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			disks := map[int]string{}
			c, seed := newConfigured(t, func(id int, o *cluster.Options) {
				if o.Kind == cluster.Warren {
					disks[id] = freezable(t)
					o.Dir = filepath.Join(disks[id], "data")
				}
			}, kinds...)
			c.judge(c.load(seed, func() {
				for range 3 {
					leader := c.ledBy(cluster.Warren)
					c.sleep(300, 600)
					thaw := freeze(t, disks[leader.ID()])
					began := time.Now()
					cluster.Eventually(t, func() bool {
						now := c.leaderOf(c.nodes)
						return now != nil && now != leader
					}, time.Minute, "server %d leads with a disk that is frozen", leader.ID())
					c.logf("  another server leads after %v", time.Since(began))
					c.sleep(1000, 5000)
					thaw()
					c.whole()
				}
			}))
		})
	}
}

// freezable mounts a file system of its own that can be frozen, and returns where.
func freezable(t *testing.T) (dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	f := must.Do(os.Create(image))(t)
	require.NoError(t, f.Truncate(512<<20))
	require.NoError(t, f.Close())
	dir = t.TempDir()
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("a file system that can be frozen takes root and loop devices: %v: %s", err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// freeze freezes a file system until thaw is called, or the test ends.
func freeze(t *testing.T, dir string) (thaw func()) {
	t.Helper()
	must.Output(t, exec.Command("fsfreeze", "--freeze", dir))
	thawed := false
	thaw = func() {
		if !thawed {
			thawed = true
			must.Output(t, exec.Command("fsfreeze", "--unfreeze", dir))
		}
	}
	t.Cleanup(thaw)
	return thaw
}
