//go:build interop

package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// TestShellsReconfigureMixedEnsembles lets one server go and come again, by ZooKeeper's shell and by ours, whichever
// kind leads. What both say is the same, and so are the files that the servers of both kinds have written of it.
func TestShellsReconfigureMixedEnsembles(t *testing.T) {
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, _ := newChanging(t, 3, append(slices.Clone(kinds), cluster.Warren, cluster.ZooKeeper)...)
			for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
				for _, name := range []string{"zkCli.sh", "warren shell"} {
					leader := c.ledBy(kind)
					for _, joiner := range c.nodes[3:] {
						gone := c.nodes[leader.ID()%3]
						if gone.Kind() == joiner.Kind() {
							gone = c.nodes[gone.ID()%3]
						}
						if gone == leader {
							gone = c.nodes[gone.ID()%3]
						}
						said := c.shellReconfigures(shells(t)[name], leader, "-add", joiner.Line(), "-remove",
							fmt.Sprint(gone.ID()))
						require.Contains(t, said, "Committed new configuration:")
						c.sameFiles(said, gone)
						said = c.shellReconfigures(shells(t)[name], leader, "-remove", fmt.Sprint(joiner.ID()),
							"-add", gone.Line())
						c.sameFiles(said, joiner)
						require.Equal(t, leader, c.certainLeader(), "the leader of all that")
						c.logf("%s: led by %s, server %d (%s) has replaced %d (%s) for a while", name, kind,
							joiner.ID(), joiner.Kind(), gone.ID(), gone.Kind())
					}
				}
			}
			c.same()
		})
	}
}

// shells are ZooKeeper's and ours.
func shells(t *testing.T) map[string][]string {
	return map[string][]string{"zkCli.sh": {"/usr/share/zookeeper/bin/zkCli.sh"},
		"warren shell": {cluster.Binary(t), "shell"}}
}

// inShell is one command of a shell at a server, with the shell's own flags before it.
func inShell(shell []string, node *cluster.Node, args ...string) *exec.Cmd {
	return exec.Command(shell[0], append(append(slices.Clone(shell[1:]), "-server", node.Addr()), args...)...)
}

// shellReconfigures runs the command reconfig of a shell at a server and returns what it has said.
func (c *chaos) shellReconfigures(shell []string, node *cluster.Node, args ...string) string {
	c.t.Helper()
	out, err := inShell(shell, node, append([]string{"reconfig"}, args...)...).Output()
	require.NoError(c.t, err, "%s %s: %s", shell, args, out)
	return string(out)
}

// committed is what a shell says of a configuration.
var committed = regexp.MustCompile(`(?m)^server\.\d+=.*$|^version=([0-9a-f]+)$`)

// sameFiles requires that all servers but one, which may have gone, have a file of the configuration that a shell has
// shown, and that zoo.cfg names it.
func (c *chaos) sameFiles(said string, but *cluster.Node) {
	c.t.Helper()
	var lines []string
	var version string
	for _, m := range committed.FindAllStringSubmatch(said, -1) {
		if m[1] != "" {
			version = m[1]
		} else {
			lines = append(lines, m[0])
		}
	}
	require.NotEmpty(c.t, version, said)
	slices.Sort(lines)
	want := strings.Join(lines, "\n")
	for _, node := range c.nodes {
		if node == but || !strings.Contains(want, node.Line()) {
			continue
		}
		name := filepath.Join(node.Dir(), "zoo.cfg.dynamic."+version)
		var got, cfg []byte
		// they are written when the txn is committed, which the client hears of the leader
		cluster.Eventually(c.t, func() bool {
			var err error
			if got, err = os.ReadFile(name); err != nil {
				return false
			}
			cfg, err = os.ReadFile(filepath.Join(node.Dir(), "zoo.cfg"))
			return err == nil && strings.Contains(string(cfg), "dynamicConfigFile="+name)
		}, 30*time.Second, "server %d (%s) has no %s that zoo.cfg names", node.ID(), node.Kind(), name)
		require.Equal(c.t, want, string(got), "the file of server %d (%s)", node.ID(), node.Kind())
		require.NotRegexp(c.t, `(?m)^server\.`, string(cfg), "zoo.cfg of server %d (%s)", node.ID(), node.Kind())
	}
}
