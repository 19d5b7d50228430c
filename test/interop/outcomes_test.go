//go:build interop

package interop

import (
	"flag"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

var outcomesRounds = flag.Int("interop.kills", 6, "servers that TestKazooLearnsOutcomes kills")

// TestKazooLearnsOutcomes kills servers under a kazoo client with an adapter that was written from
// docs/protocol/extensions.md: no call fails, and none is done twice. Against ZooKeeper, or with a plain KazooClient,
// the program ends with a ConnectionLoss.
func TestKazooLearnsOutcomes(t *testing.T) {
	nodes, connect := startThree(t)
	program := converse(t, kazooProgram(t, "outcomes.py", connect))
	program.expect("ready")
	for round := range *outcomesRounds {
		line := fmt.Sprintf("round%d", round)
		program.tell(line)
		node := leaderOf(t, nodes)
		if round%2 == 1 {
			node = holderOf(t, nodes)
		}
		node.Kill()
		program.expect(line)
		node.Start()
	}
	require.NoError(t, program.in.Close())
	var later, again int
	must.Do(fmt.Sscan(program.expect("close"), &later, &again))(t)
	program.ends()
	t.Logf("%d kills: %d answers were outcomes, %d requests were sent again", *outcomesRounds, later, again)
	require.Positive(t, later+again, "no request was in flight when a server was killed")
}

// holderOf returns the server that the client of a test is connected with.
func holderOf(t *testing.T, nodes []*cluster.Node) (holder *cluster.Node) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, node := range nodes {
			if text, err := wire.FourLetter(node.Addr(), "srvr", time.Second); err == nil &&
				strings.Contains(text, "Connections: 2\n") { // with the one that asks
				holder = node
				return true
			}
		}
		return false
	}, 30*time.Second, 20*time.Millisecond)
	return holder
}

// TestOutcomesBesideZooKeeper offers the extension in an ensemble of both kinds: a server of Warren grants it as long
// as one of Warren leads, and no server of ZooKeeper minds the bytes of the offer. A session goes from one to another.
func TestOutcomesBesideZooKeeper(t *testing.T) {
	nodes := cluster.StartEnsemble(t, cluster.Options{}, cluster.Options{}, cluster.Options{})
	nodes[1].Stop()
	nodes[1].Become(cluster.ZooKeeper)
	nodes[1].Start()
	session := new(proto.ConnectResponse)
	seen := map[cluster.Kind]bool{}
	for len(seen) < 2 {
		leader := leaderOf(t, nodes)
		seen[leader.Kind()] = true
		for _, node := range nodes {
			granted := offer(t, node, session)
			require.Positive(t, granted.TimeOut, "the session goes on at %v", node.Addr())
			want := int32(0)
			if node.Kind() == cluster.Warren && leader.Kind() == cluster.Warren {
				want = proto.ExtensionOutcomes
			}
			require.Equal(t, want, granted.Extensions, "%s at %s, led by %s", node.Addr(), node.Kind(), leader.Kind())
			session = granted
		}
		// The other two have the same history, so that the one with the greater id leads: another kind than before.
		leader.Stop()
		for _, node := range nodes {
			if node != leader {
				node.WaitServing()
			}
		}
		leader.Start()
	}
}

// offer resumes a session, or makes one if that is empty, with an offer of every extension.
func offer(t *testing.T, node *cluster.Node, session *proto.ConnectResponse) *proto.ConnectResponse {
	t.Helper()
	nc := must.Do(net.Dial("tcp", node.Addr()))(t)
	defer func() { _ = nc.Close() }()
	require.NoError(t, nc.SetDeadline(time.Now().Add(30*time.Second)))
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 30_000})
	req.SessionID, req.Password = session.SessionID, session.Password[:]
	req.HasReadOnly, req.Extensions = true, -1
	require.NoError(t, wire.WriteFrame(nc, req.AppendTo(nil)))
	frame := must.Do(wire.ReadFrame(nc))(t)
	granted := new(proto.ConnectResponse)
	require.NoError(t, granted.ReadFrom(frame))
	return granted
}
