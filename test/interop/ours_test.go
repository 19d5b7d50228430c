//go:build interop

package interop

import (
	"os"
	"os/exec"
	"testing"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestOurClientAgainstZooKeeper runs the tests of package client and of recipes that take a real server against
// ZooKeeper: the same tests that hold for Warren.
func TestOurClientAgainstZooKeeper(t *testing.T) {
	node := cluster.Start(t, cluster.Options{Kind: cluster.ZooKeeper, Settings: map[string]string{
		"extendedTypesEnabled": "true", "4lw.commands.whitelist": "*", "maxClientCnxns": "0"}})
	for _, c := range []struct{ pkg, tests string }{
		{"client", "."}, {"test/client", "^TestRealOnly$"}, {"test/recipes/single", "."},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			cmd := exec.CommandContext(programContext(t), "go", "test", "-count=1", "-timeout=10m", "-run", c.tests,
				"../../"+c.pkg)
			cmd.Env = append(os.Environ(), "WARREN_TEST_SERVERS="+node.Addr())
			must.Output(t, cmd)
		})
	}
}
