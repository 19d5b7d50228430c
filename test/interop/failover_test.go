//go:build interop

package interop

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestClientsFailOver lets the clients of others work on an ensemble of which the leader, or the server that has
// them, is killed or stopped again and again: they go to another server by themselves and lose neither their session
// nor their watch.
func TestClientsFailOver(t *testing.T) {
	for _, v := range []struct {
		name    string
		command func(t *testing.T, nodes []*cluster.Node, connect string) *exec.Cmd
	}{
		{"java", func(t *testing.T, nodes []*cluster.Node, connect string) *exec.Cmd {
			return javaProgram(t, nodes[0], "Failover", connect)
		}},
		{"c", func(t *testing.T, _ []*cluster.Node, connect string) *exec.Cmd {
			return exec.CommandContext(programContext(t), compileC(t, "failover"), connect)
		}},
		{"kazoo", func(t *testing.T, _ []*cluster.Node, connect string) *exec.Cmd {
			return kazooProgram(t, "failover.py", connect)
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			nodes, connect := startThree(t)
			failOver(t, nodes, v.command(t, nodes, connect))
		})
	}
}

// startThree starts an ensemble and returns its connect string.
func startThree(t *testing.T) (nodes []*cluster.Node, connect string) {
	t.Helper()
	one := cluster.Options{Kind: cluster.Kind(*target)}
	nodes = cluster.StartEnsemble(t, one, one, one)
	return nodes, strings.Join(cluster.Addrs(nodes), ",")
}

// failOver runs a program through all that happens to the servers.
func failOver(t *testing.T, nodes []*cluster.Node, cmd *exec.Cmd) {
	t.Helper()
	conn := wire.Open(t, nodes[0].Addr(), wire.Options{})
	conn.MustCreate(t, "/signal", nil, proto.ModePersistent)
	require.NoError(t, conn.CloseSession())
	conn.Close()

	program := converse(t, cmd)
	program.expect("ready")
	for round := range 6 {
		node := leaderOf(t, nodes)
		if round%3 == 2 { // a follower, which may have the client
			node = nodes[node.ID()%len(nodes)]
		}
		end := node.Kill
		if round >= 3 {
			end = node.Stop
		}
		end()
		began := time.Now()
		signal(t, nodes, node)
		program.tell(fmt.Sprintf("round%d", round))
		program.expect(fmt.Sprintf("round%d", round))
		t.Logf("round %d: server %d ended; done after %v", round, node.ID(), time.Since(began).Round(time.Millisecond))
		node.Start()
	}
	require.NoError(t, program.in.Close())
	program.expect("close")
	program.ends()
}

// leaderOf returns the server that says that it leads.
func leaderOf(t *testing.T, nodes []*cluster.Node) (leader *cluster.Node) {
	t.Helper()
	require.Eventually(t, func() bool {
		i := slices.IndexFunc(nodes, func(n *cluster.Node) bool { return n.Mode() == "leader" })
		if i >= 0 {
			leader = nodes[i]
		}
		return i >= 0
	}, 30*time.Second, 20*time.Millisecond)
	return leader
}

// signal changes /signal by way of a server that is there.
func signal(t *testing.T, nodes []*cluster.Node, but *cluster.Node) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, node := range nodes {
			if node == but {
				continue
			}
			conn, err := wire.Dial(node.Addr(), wire.Options{Reply: 5 * time.Second})
			if err != nil {
				continue
			}
			_, err = conn.SetData("/signal", nil, -1)
			_ = conn.CloseSession() // or it expires
			conn.Close()
			if err == nil {
				return true
			}
		}
		return false
	}, 30*time.Second, 20*time.Millisecond)
}
