//go:build interop

package interop

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// kazooReconfig lets a server come, or go.
const kazooReconfig = `
import sys
from kazoo.client import KazooClient
zk = KazooClient(hosts=sys.argv[1])
zk.start()
data, stat = zk.reconfig(joining=sys.argv[2] or None, leaving=sys.argv[3] or None, new_members=sys.argv[4] or None)
assert stat.version == -1
sys.stdout.write(data.decode())
zk.stop()
`

// startChanging starts three servers and one that may join them.
func startChanging(t *testing.T, kind cluster.Kind) []*cluster.Node {
	t.Helper()
	var o []cluster.Options
	for i := range 4 {
		o = append(o, cluster.Options{Kind: kind, Reconfig: true, Joiner: i == 3,
			Settings: map[string]string{"tickTime": "500"}})
	}
	nodes := cluster.StartEnsemble(t, o...)
	return nodes
}

// members are the server lines of a configuration, sorted.
func members(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "server.") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// inForce waits until a server shows a configuration.
func inForce(t *testing.T, node *cluster.Node, want []string) {
	t.Helper()
	var got []string
	require.Eventually(t, func() bool {
		c, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: 10_000})
		if err != nil {
			return false
		}
		defer c.Close()
		if c.Sync("/zookeeper/config") != nil {
			return false
		}
		data, stat, err := c.GetData("/zookeeper/config", false)
		got = members(string(data))
		return err == nil && slices.Equal(got, want) &&
			strings.HasSuffix(string(data), fmt.Sprintf("\nversion=%x", int64(stat.Mzxid)))
	}, time.Minute, 50*time.Millisecond, "%s shows %s", node.Addr(), got)
}

// TestReconfigByClients lets clients of every kind change an ensemble: one server joins, and goes, and comes with a
// whole list.
func TestReconfigByClients(t *testing.T) {
	nodes := startChanging(t, cluster.Kind(*target))
	var three, four []string
	for i, n := range nodes {
		if i < 3 {
			three = append(three, n.Line())
		}
		four = append(four, n.Line())
	}
	addr, joiner := nodes[1].Addr(), nodes[3].Line()
	output := func(name string, args ...string) string {
		out, err := exec.CommandContext(programContext(t), name, args...).Output()
		require.NoError(t, err, "%s %s: %s", name, args, out)
		return string(out)
	}
	shell := func(words ...string) func(join, leave, all string) string {
		return func(join, leave, all string) string {
			args := append(words[1:], "-server", addr, "reconfig")
			for flag, value := range map[string]string{"-add": join, "-remove": leave, "-members": all} {
				if value != "" {
					args = append(args, flag, value)
				}
			}
			return output(words[0], args...)
		}
	}
	reconfigurers := map[string]func(join, leave, all string) string{
		"zkCli.sh":     shell(zkCli),
		"warren shell": shell(cluster.Binary(t), "shell"),
		"kazoo": func(join, leave, all string) string {
			return output("/usr/bin/python3", "-c", kazooReconfig, addr, join, leave, all)
		},
		"go-zookeeper": func(join, leave, all string) string {
			conn, _ := must.Do2(zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false)))(t)
			defer conn.Close()
			var stat *zk.Stat
			var err error
			if all != "" {
				stat, err = conn.Reconfig(strings.Split(all, ","), -1)
			} else {
				stat, err = conn.IncrementalReconfig(given(join), given(leave), -1)
			}
			require.NoError(t, err)
			require.EqualValues(t, -1, stat.Version)
			data, _ := must.Do2(conn.Get("/zookeeper/config"))(t)
			return string(data)
		},
	}
	said := map[string][]string{}
	version := regexp.MustCompile(`version=[0-9a-f]+`)
	for name, reconfigure := range reconfigurers {
		for _, step := range []struct {
			join, leave, all string
			want             []string
		}{
			{join: joiner, want: four}, {leave: "4", want: three}, {all: strings.Join(four, ","), want: four},
			{all: strings.Join(three, ","), want: three},
		} {
			text := reconfigure(step.join, step.leave, step.all)
			require.Equal(t, step.want, members(text), "%s says\n%s", name, text)
			said[name] = append(said[name], version.ReplaceAllString(strings.Join(normalised(text), "\n"), "VERSION"))
			for _, n := range nodes {
				inForce(t, n, step.want)
			}
		}
	}
	for i, text := range said["zkCli.sh"] {
		_, committed, ok := strings.Cut(text, "Committed new configuration:")
		require.True(t, ok, text)
		require.Contains(t, said["warren shell"][i], "Committed new configuration:"+committed)
	}
}

// given is a list for go-zookeeper.
func given(one string) []string {
	if one == "" {
		return nil
	}
	return []string{one}
}

// reconfigRequest is one that both servers answer in the same way, unless ours says otherwise.
type reconfigRequest struct {
	name string
	wire.Request
	ours proto.ErrCode // the answer of Warren where ZooKeeper 3.8 has another one
}

// reconfigRequests are made for the server lines of an ensemble. None of them changes its members at Warren.
func reconfigRequests(nodes []*cluster.Node) []reconfigRequest {
	line := func(i int) string { return nodes[i].Line() }
	place := strings.SplitN(line(0), "=", 2)[1]
	return []reconfigRequest{
		{"version", wire.Reconfig("", "2", "", 7), 0},
		{"version before text", wire.Reconfig("nonsense", "", "", 7), 0},
		{"no line", wire.Reconfig("nonsense", "", "", -1), 0},
		{"no client port", wire.Reconfig("server.9=127.0.0.1:1:2", "", "", -1), 0},
		{"no election port", wire.Reconfig("server.9=127.0.0.1:1;3", "", "", -1), 0},
		{"role", wire.Reconfig("server.9=127.0.0.1:1:2:king;3", "", "", -1), 0},
		{"nobody", wire.Reconfig("", "1,2,3", "", -1), 0},
		{"other settings", wire.Reconfig("", "", line(0)+",tickTime=1", -1), 0},
		{"no quorum",
			wire.Reconfig("server.8=127.0.0.1:1:2;3,server.9=127.0.0.1:4:5;6,server.7=127.0.0.1:7:8;9", "", "", -1),
			0},
		{"nobody of it", wire.Reconfig("", "", "server.9=127.0.0.1:1:2;3", -1), 0},
		{"nothing", wire.Reconfig("", "", "", -1), 0},
		{"unknown id", wire.Reconfig("", "77", "", -1), 0},
		{"spaces", wire.Reconfig("", " 77 , 78 ", "", -1), 0},
		// ZooKeeper answers MarshallingError.
		{"observers only", wire.Reconfig("", "", strings.Replace(line(0), "participant", "observer", 1), -1),
			proto.ErrBadArguments},
		// ZooKeeper 3.8 does not find it out, and changes the ensemble.
		{"place that is taken", wire.Reconfig("server.9="+place, "", "", -1), proto.ErrBadArguments},
	}
}

// TestReconfigErrorsCompared sends the same requests to ZooKeeper and to us.
func TestReconfigErrorsCompared(t *testing.T) {
	theirs := map[string]proto.ErrCode{}
	for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
		nodes := startChanging(t, kind)
		c := wire.Open(t, nodes[0].Addr(), wire.Options{TimeoutMs: 30_000})
		for _, r := range reconfigRequests(nodes) {
			reply := must.Do(c.Do(r.Request))(t, r.name)
			switch code := reply.Header.Err; {
			case kind == cluster.ZooKeeper:
				theirs[r.name] = code
			case r.ours != 0:
				require.Equal(t, r.ours, code, r.name)
				require.NotEqual(t, theirs[r.name], code, "%s: both are the same now", r.name)
			default:
				require.Equal(t, theirs[r.name], code, r.name)
			}
		}
		c.Close()
		for _, n := range nodes {
			n.Kill()
		}
	}
	require.Equal(t, proto.OK, theirs["nothing"])
}
