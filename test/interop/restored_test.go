//go:build interop

package interop

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// TestClientsLiveThroughARestore restores a backup in all servers of an ensemble whose clients have seen later
// epochs: they hear that their sessions have expired, and go on with new ones.
func TestClientsLiveThroughARestore(t *testing.T) {
	for _, v := range []struct {
		name    string
		command func(t *testing.T, nodes []*cluster.Node, connect string) *exec.Cmd
	}{
		{"java", func(t *testing.T, nodes []*cluster.Node, connect string) *exec.Cmd {
			return javaProgram(t, nodes[0], "Restored", connect)
		}},
		{"kazoo", func(t *testing.T, _ []*cluster.Node, connect string) *exec.Cmd {
			return kazooProgram(t, "restored.py", connect)
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			nodes, connect := startThree(t)
			cmd := v.command(t, nodes, connect)
			program := converse(t, cmd)
			restart := func(between func(node *cluster.Node)) {
				for _, node := range nodes {
					node.Stop()
				}
				for _, node := range nodes {
					between(node)
				}
				cluster.StartAll(nodes...)
			}
			program.expect("ready")
			backup := filepath.Join(t.TempDir(), "backup")
			ourOutput(t, "backup", "create", backup, nodes[0].DataDir())
			restart(func(*cluster.Node) {}) // another epoch
			program.tell("")
			program.expect("seen")
			restart(func(node *cluster.Node) {
				require.Contains(t, ourOutput(t, "restore", backup, node.DataDir(), "--force"),
					"it goes on with epoch ")
			})
			program.expect("expired")
			program.ends()
		})
	}
}
