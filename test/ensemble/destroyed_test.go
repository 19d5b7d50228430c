package ensemble

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestMetaDestroyed overwrites meta.db of a server that runs, and lets the ensemble hold an election. The server ends,
// because it can promise nothing more, instead of staying as one that neither serves nor stops; it starts again from
// what it has beside that file, and nothing is lost.
func TestMetaDestroyed(t *testing.T) {
	t.Parallel()
	for _, leads := range []bool{false, true} {
		c := newScene(t, of(cluster.Warren, 3)...)
		kept := c.creates("before", 3)
		leader := c.certainLeader()
		node := leader
		if !leads {
			node = c.but(leader)[0]
		}
		path := filepath.Join(node.DataDir(), "version-2", "meta.db")
		info := must.Do(os.Stat(path))(t)
		f := must.Do(os.OpenFile(path, os.O_WRONLY, 0))(t)
		must.Do(f.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size())), 0))(t)
		require.NoError(t, f.Close())
		if leads {
			for _, other := range c.but(leader) { // the leader has no quorum any more
				other.Kill()
				other.Launch()
			}
		} else {
			leader.Kill()
			leader.Launch()
		}
		select {
		case <-node.Exited():
		case <-time.After(patience):
			t.Fatalf("server %d is still there\n%s", node.ID(), node.Log())
		}
		require.Equal(t, 10, node.ExitCode(), node.Log())
		require.Contains(t, node.Log(), "damaged")
		require.NotContains(t, node.Log(), "goroutine ", "a panic")
		node.Start()
		c.whole()
		c.keeps(append(kept, c.creates("after", 3)...))
		c.same()
	}
}
