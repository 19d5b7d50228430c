package ensemble

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestRestoreIsKilled kills warren restore at a moment of its work, again and again. The server comes up with the
// tree from before or with the one of the backup, or refuses and says why; then the command is run again.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	const seed, rounds = 5, 40
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	node := cluster.Start(t, cluster.Options{Kind: cluster.Warren, Settings: map[string]string{"tickTime": "500"}})
	backup := filepath.Join(t.TempDir(), "backup")
	create := func(path string) {
		conn := must.Do(wire.Dial(node.Addr(), wire.Options{}))(t)
		defer conn.Close()
		conn.MustCreate(t, path, nil, proto.ModePersistent)
	}
	has := func(path string) bool {
		conn := must.Do(wire.Dial(node.Addr(), wire.Options{}))(t)
		defer conn.Close()
		_, err := conn.Exists(path, false)
		if err != nil {
			require.ErrorIs(t, err, proto.ErrNoNode)
		}
		return err == nil
	}
	restore := func() *exec.Cmd {
		return exec.Command(cluster.Binary(t), "restore", backup, node.DataDir(), "--force")
	}
	for i := range 500 {
		create(fmt.Sprintf("/kept-%d", i))
	}
	must.Output(t, exec.Command(cluster.Binary(t), "backup", "create", backup, node.DataDir()))
	node.Stop()
	began := time.Now()
	must.Output(t, restore())
	took := time.Since(began)
	node.Start()
	before, after, refused := 0, 0, 0
	for round := range rounds {
		since := fmt.Sprintf("/since-%d", round)
		create(since)
		node.Stop()
		killed := restore()
		require.NoError(t, killed.Start())
		time.Sleep(time.Duration(rng.Int64N(int64(took) * 5 / 4)))
		_ = killed.Process.Kill() // or it has ended
		_ = killed.Wait()
		node.Launch()
		if !serves(node) {
			refused++
			require.Equal(t, 3, node.ExitCode())
			require.Contains(t, node.Log(),
				"warren restore was interrupted, and what it has left must not be served: run it again")
			must.Output(t, restore())
			node.Start()
			require.False(t, has(since))
		} else if has(since) {
			before++
		} else {
			after++
		}
		require.True(t, has("/kept-499"))
	}
	t.Logf("%d times the tree from before, %d times that of the backup, %d times refused", before, after, refused)
}

// serves waits until a server that was launched serves, or has ended.
func serves(node *cluster.Node) bool {
	for !node.Serves() {
		select {
		case <-node.Exited():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}
