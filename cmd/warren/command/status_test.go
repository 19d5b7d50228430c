package command

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/cluster"

	"github.com/stretchr/testify/require"
)

// srvrOf answers as a server does.
func srvrOf(zxid, mode string) string {
	return "Zookeeper version: 3.9.0-warren, built on 2026-01-01\nLatency min/avg/max: 0/0.25/7\nReceived: 9\nSent: 8\nConnections: 3\n" +
		"Outstanding: 2\nZxid: " + zxid + "\nMode: " + mode + "\nNode count: 5\n"
}

func TestStatusJudges(t *testing.T) {
	const idle = "This ZooKeeper instance is not currently serving requests\n"
	cases := []struct {
		name    string
		answers []string
		code    int
		verdict string
		problem []string
	}{
		{"healthy", []string{srvrOf("0x200000005", "leader"), srvrOf("0x200000004", "follower"), srvrOf("0x200000005", "observer")}, 0, "healthy", nil},
		{"standalone", []string{srvrOf("0x5", "standalone")}, 0, "healthy", nil},
		{"one down", []string{srvrOf("0x200000005", "leader"), idle, srvrOf("0x200000005", "follower")}, 1, "1 of 3 servers", []string{"", "does not serve", ""}},
		{"lagging", []string{srvrOf("0x200000f05", "leader"), srvrOf("0x200000005", "follower")}, 1, "1 of 2", []string{"", "lags 3840 txns"}},
		{"other epoch", []string{srvrOf("0x300000005", "leader"), srvrOf("0x200000005", "follower")}, 1, "1 of 2", []string{"", "another epoch"}},
		{"read-only", []string{srvrOf("0x300000005", "leader"), srvrOf("0x300000005", "read-only")}, 1, "1 of 2", []string{"", "lost the quorum"}},
		{"followers alone", []string{srvrOf("0x500000001", "follower"), srvrOf("0x500000001", "observer")}, 0, "healthy: a server that was not asked leads", nil},
		{"read-only alone", []string{srvrOf("0x500000001", "read-only")}, 2, "no server leads", nil},
		{"no leader", []string{idle, idle, srvrOf("0x5", "follower")}, 2, "no server leads", nil},
		{"two leaders", []string{srvrOf("0x5", "leader"), srvrOf("0x5", "leader")}, 2, "2 servers say", nil},
		{"nonsense", []string{"\x00\xff", srvrOf("0x5", "leader")}, 1, "1 of 2", []string{"answers srvr with", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st := &clusterStatus{}
			for _, text := range c.answers {
				var s serverStatus
				if err := s.parse(text); err != nil {
					s.Problem = err.Error()
				}
				st.Servers = append(st.Servers, s)
			}
			st.judge(1000)
			require.Equal(t, c.code, st.code)
			require.Contains(t, st.Verdict, c.verdict)
			for i, p := range c.problem {
				if p == "" {
					require.Empty(t, st.Servers[i].Problem)
				} else {
					require.Contains(t, st.Servers[i].Problem, p)
				}
			}
			var out bytes.Buffer
			require.NoError(t, st.table(&out))
			require.Equal(t, len(c.answers)+2, strings.Count(out.String(), "\n"))
		})
	}
}

// freePorts returns the first of n ports in a row that, with all their companions of warren dev, are free at this
// moment. They lie below those that cluster.FreePort takes.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 1000 {
		port := 4000 + rand.IntN(10_000-devAdminPort-n-4000)
		free := true
		for _, distance := range []int{0, devQuorumPort, devElectionPort, devAdminPort} {
			for i := range n {
				ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+distance+i)))
				if err != nil {
					free = false
					break
				}
				require.NoError(t, ln.Close())
			}
		}
		if free {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func TestDevServesAndStatusSeesIt(t *testing.T) {
	port := freePorts(t, 4)
	ctx, stop := context.WithCancel(t.Context())
	root := newRootCommand()
	var out cluster.Output
	root.SetOut(&out)
	root.SetErr(&out)
	dir := t.TempDir()
	root.SetArgs([]string{"dev", "--observers", "1", "--dir", dir, "--port", strconv.Itoa(port)})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "connect string") || len(ended) > 0 }, time.Minute, 10*time.Millisecond)
	require.Contains(t, out.String(), "connect string")

	var status bytes.Buffer
	code := Main([]string{"status", "--config", dir + "/1/zoo.cfg", "--output", "json"}, &status, &status)
	require.Equal(t, exitOK, code, status.String())
	var got struct {
		Verdict string
		Servers []serverStatus
	}
	require.NoError(t, json.Unmarshal(status.Bytes(), &got))
	require.Equal(t, "healthy", got.Verdict)
	roles := map[string]int{}
	for _, s := range got.Servers {
		roles[s.Role]++
	}
	require.Equal(t, map[string]int{"leader": 1, "follower": 2, "observer": 1}, roles)

	stop()
	require.NoError(t, <-ended)
	status.Reset()
	require.Equal(t, exitNoQuorum, Main([]string{"status", "--config", dir + "/1/zoo.cfg"}, &status, &status))
	require.Contains(t, status.String(), "no server leads")
}
