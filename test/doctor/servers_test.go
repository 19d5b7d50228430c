package doctor

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// leaderFirst sorts nodes: the leader, then the others.
func leaderFirst(t *testing.T, nodes []*cluster.Node) []*cluster.Node {
	t.Helper()
	for i, n := range nodes {
		if n.Mode() == "leader" {
			return append([]*cluster.Node{n}, slices.Delete(slices.Clone(nodes), i, i+1)...)
		}
	}
	t.Fatal("no server leads")
	return nil
}

// TestEnsembleLosesServers goes from a healthy ensemble to one without a quorum, and back.
func TestEnsembleLosesServers(t *testing.T) {
	nodes := leaderFirst(t, ensemble(t, nil, nil, nil, nil))
	eventually(t, servers(nodes))
	v := examine(t, servers(nodes[1:])...)
	require.Empty(t, v.ills(), "the leader was not asked: %+v", v.Findings)
	require.Equal(t, doctor.Notice, v.severity("leader-not-asked"))

	nodes[2].Kill()
	v = eventually(t, servers(nodes), "unreachable", "no-spare")
	require.Equal(t, doctor.Error, v.Worst)
	require.Equal(t, nodes[2].Addr(), v.Findings[0].Subject)
	v.names(t, "link ended")

	wire.Open(t, nodes[1].Addr(), wire.Options{TimeoutMs: 10_000})
	nodes[0].Kill()
	v = eventually(t, servers(nodes), "no-quorum", "unreachable", "not-serving")
	require.Equal(t, doctor.Critical, v.Worst)
	v.names(t, "listens for clients on")
	says(t, nodes[1], "closing client connections that outlived the leader")
	v.names(t, "closing client connections that outlived the leader")

	nodes[2].Start()
	eventually(t, servers(nodes), "unreachable", "no-spare")
	nodes[0].Start()
	eventually(t, servers(nodes))
}

// TestFollowerThatStandsStill stops a follower for a while, so that it misses txns. It does not answer then, and is
// behind when it goes on.
func TestFollowerThatStandsStill(t *testing.T) {
	nodes := leaderFirst(t, ensemble(t, map[string]string{"syncLimit": "120"}, nil, nil, nil))
	c := wire.Open(t, nodes[0].Addr(), wire.Options{TimeoutMs: 10_000})
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	requests := make([]wire.Request, 2000)
	for i := range requests {
		requests[i] = wire.SetData("/n", make([]byte, 100), -1)
	}
	seen := false
	for watch := cluster.NewWatch(); !seen && watch.Elapsed() < patience; {
		nodes[2].Pause()
		for range 15 {
			for _, call := range c.SendAll(requests) {
				require.NoError(t, call.Wait())
			}
		}
		v := examine(t, servers(nodes, "--timeout", "300ms")...)
		require.Equal(t, []string{"unreachable"}, v.ills(), "%+v", v.Findings)
		require.Equal(t, nodes[2].Addr(), v.Findings[0].Subject)
		nodes[2].Resume()
		v = examine(t, servers(nodes, "--max-lag", "100")...)
		seen = slices.Contains(v.ills(), "lag")
	}
	require.True(t, seen, "it is never seen behind")
	eventually(t, servers(nodes, "--max-lag", "100"))
}

func TestServersThatDiffer(t *testing.T) {
	nodes := ensemble(t, nil, nil, nil, map[string]string{"tickTime": "700", "maxSessionTimeout": "50000"})
	v := eventually(t, servers(nodes), "different-settings")
	require.Equal(t, doctor.Warning, v.Worst)
	text := ""
	for _, f := range v.Findings {
		text += f.What + "\n"
	}
	for _, part := range []string{
		"tickTime is 500 on ", "700 on server 3", "maxSessionTimeout is 10000 on ", "50000 on server 3",
	} {
		require.Contains(t, text, part)
	}

	more := ensemble(t, nil, nil, nil, map[string]string{"server.9": "127.0.0.1:1:2:observer"})
	v = examine(t, servers(more)...) // server 9 is not there, which only the leader that lists it can tell
	require.Equal(t, doctor.Notice, v.severity("different-members"), "they have just begun: %+v", v.Findings)
	require.Subset(t, []string{"unreachable"}, v.ills())

	v = eventually(t, servers([]*cluster.Node{nodes[0], nodes[1], nodes[2], cluster.Start(t, cluster.Options{})}),
		"not-in-ensemble", "different-settings")
	require.Equal(t, doctor.Critical, v.Worst)
	v.names(t, "runs alone beside others: its clients see another tree")

	v = examine(t, servers(append(slices.Clone(nodes), more...))...)
	v.names(t, "servers lead: ")
	require.Equal(t, doctor.Critical, v.severity("same-id"), "the servers of two ensembles have the same ids")
}

// TestCertificates runs a server that shows a certificate of which the time is over, or almost.
func TestCertificates(t *testing.T) {
	ca := pki.NewCA("ca")
	for left, want := range map[time.Duration]doctor.Severity{
		-time.Minute: doctor.Critical, 24 * time.Hour: doctor.Warning, 1000 * time.Hour: -1,
	} {
		file := filepath.Join(t.TempDir(), "server.pem")
		require.NoError(t,
			os.WriteFile(file,
				ca.Issue(pki.Options{Name: "s", Hosts: []string{"127.0.0.1"}, NotAfter: time.Now().Add(left)}).PEM(),
				0o600))
		n := cluster.New(t,
			cluster.Options{Settings: map[string]string{"secureClientPort": "0", "ssl.keyStore.location": file,
				"ssl.clientAuth": "none"}})
		n.Start()
		require.Equal(t, left < 0, strings.Contains(n.Log(), "the certificate of the client ports has expired"))
		v := examine(t, servers([]*cluster.Node{n})...)
		require.Equal(t, want, v.severity("certificate"), "%v", left)
		if left < 0 {
			v.names(t, "the certificate of the client ports has expired")
		}
		v = examine(t, "--config", filepath.Join(n.Dir(), "zoo.cfg"), "--no-measure")
		require.Equal(t, want, v.severity("certificate"), "%v", left)
	}
}

// TestClientPortThatIsTaken moves the client port of a member to one that another program has. The old port stays open
// until the other one is free.
func TestClientPortThatIsTaken(t *testing.T) {
	t.Parallel()
	nodes := cluster.StartEnsemble(t, cluster.Options{Reconfig: true}, cluster.Options{Reconfig: true},
		cluster.Options{Reconfig: true})
	taken := must.Listen(t)
	one, to := nodes[0], taken.Addr().String()
	c := wire.Open(t, one.Addr(), wire.Options{TimeoutMs: 30_000})
	reply := c.MustDo(t, wire.Reconfig(strings.Replace(one.Line(), ";"+one.Addr(), ";"+to, 1), "", "", -1))
	require.Equal(t, proto.OK, reply.Header.Err)
	says(t, one, "cannot open the configured client port: clients are served on the old address")
	var v visit
	cluster.Eventually(t, func() bool {
		v = examine(t, servers(nodes)...)
		return v.severity("client-port") >= 0
	}, patience, "doctor does not find it")
	f := v.names(t, "cannot open the configured client port")
	require.Equal(t, one.Addr(), f.Subject)

	c.MustCreate(t, "/old-connection", nil, proto.ModePersistent)
	again := must.Do(wire.Dial(one.Addr(), wire.Options{TimeoutMs: 30_000}))(t, "the old port takes connections")
	defer again.Close()
	time.Sleep(2 * time.Second) // the port has been tried again
	require.Equal(t, 1, strings.Count(one.Log(), "cannot open the configured client port"))

	require.NoError(t, taken.Close())
	cluster.Eventually(t, func() bool { return cluster.ModeAt(to) != "" }, patience,
		"the new port is not opened when it is free")
	cluster.Eventually(t, func() bool {
		nc, err := net.Dial("tcp", one.Addr())
		if err == nil {
			_ = nc.Close()
		}
		return err != nil
	}, patience, "the old port stays open")
	for _, conn := range []*wire.Conn{c, again} {
		must.Do(conn.Exists("/old-connection", false))(t, "connections to the old port go on")
	}
	v = examine(t, "--admin-port", "0", to, nodes[1].Addr(), nodes[2].Addr())
	require.Less(t, int(v.severity("client-port")), 0)
}
