package servers

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/test/cmdline"
)

// seen are servers that answer srvr with texts, as doctor has seen them.
func seen(now time.Time, addresses []string, texts []string) *doctor.Seen {
	e := &doctor.Seen{Srvr: texts, Err: make([]error, len(texts))}
	for i, text := range texts {
		s := findings.Server{ID: findings.NoServer, Address: addresses[i], Heard: now}
		s.Read(&findings.Words{Srvr: text})
		e.Servers = append(e.Servers, s)
	}
	for _, f := range findings.Ensemble(e.Servers, now, 1000) {
		e.Findings = append(e.Findings, doctor.Finding{Severity: f.Severity, Check: f.Check, Subject: f.Address,
			What: f.What, Remedy: f.Remedy})
	}
	return e
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
		{"healthy", []string{cmdline.Srvr("0x200000005", "leader"), cmdline.Srvr("0x200000004", "follower"),
			cmdline.Srvr("0x200000005", "observer")}, 0, "healthy", []string{"", "", ""}},
		{"standalone", []string{cmdline.Srvr("0x5", "standalone")}, 0, "healthy", nil},
		{"one down", []string{cmdline.Srvr("0x200000005", "leader"), idle, cmdline.Srvr("0x200000005", "follower")}, 1,
			"not healthy: 1 error", []string{"", "does not serve", ""}},
		{"lagging", []string{cmdline.Srvr("0x200000f05", "leader"), cmdline.Srvr("0x200000005", "follower")}, 1,
			"not healthy: 1 warning", []string{"", "is 3840 txns behind"}},
		{"other epoch", []string{cmdline.Srvr("0x300001005", "leader"), cmdline.Srvr("0x200000005", "follower")}, 1,
			"not healthy: 1 error", []string{"", "is in epoch 2"}},
		{"read-only", []string{cmdline.Srvr("0x300000005", "leader"), cmdline.Srvr("0x300000005", "read-only")}, 1,
			"not healthy: 1 error", []string{"", "cut off from the quorum"}},
		{"one follower alone", []string{cmdline.Srvr("0x500000001", "follower")}, 0,
			"healthy: a server that was not asked leads", nil},
		{"followers alone", []string{cmdline.Srvr("0x500000001", "follower"), cmdline.Srvr("0x500000001", "observer")},
			0, "healthy: a server that was not asked leads", nil},
		{"read-only alone", []string{cmdline.Srvr("0x500000001", "read-only")}, 2, "there is no leader", nil},
		{"no leader", []string{idle, idle}, 2, "there is no leader", nil},
		{"two leaders", []string{cmdline.Srvr("0x5", "leader"), cmdline.Srvr("0x5", "leader")}, 2,
			"2 servers lead", nil},
		{"nonsense", []string{"\x00\xff", cmdline.Srvr("0x5", "leader")}, 1, "not healthy: 1 error",
			[]string{"does not serve", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			addresses := []string{"a:1", "b:1", "c:1"}[:len(c.answers)]
			st := judged(addresses, seen(time.Now(), addresses, c.answers))
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
			require.Contains(t, out.String(), st.Verdict)
			for _, f := range st.Findings {
				if f.Severity > doctor.Notice {
					require.Contains(t, out.String(), wording.Safe(f.What))
				}
			}
		})
	}
}

func TestStatusRounds(t *testing.T) {
	texts := map[float64]string{0: "0", 0.0123: "0.01", 0.456: "0.46", 3.14159: "3.1", 12.7: "13", 1234: "1234"}
	for ms, text := range texts {
		require.Equal(t, text, rounded(ms))
	}
}

func TestLongText(t *testing.T) {
	for d, text := range map[time.Duration]string{0: "0m", 59 * time.Minute: "59m", 61 * time.Minute: "1h 1m",
		26 * time.Hour: "1d 2h", 29*24*time.Hour + 23*time.Hour + 59*time.Minute: "29d 23h"} {
		require.Equal(t, text, longText(d))
	}
}

// TestStatusShowsTheDisk shows the free space, and a forecast of less than 30 days.
func TestStatusShowsTheDisk(t *testing.T) {
	whole := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		free  int64
		in    *int64
		shown string
	}{
		{3 << 29, nil, "1.5 GiB"}, {3 << 29, whole(2592000), "1.5 GiB"},
		{3 << 29, whole(2591999), "1.5 GiB, full in 29d 23h"}, {3 << 29, whole(5400), "1.5 GiB, full in 1h 30m"},
		{3 << 29, whole(0), "1.5 GiB, full"}, {0, nil, "-"},
	} {
		addresses := []string{"a:1"}
		e := seen(time.Now(), addresses, []string{cmdline.Srvr("0x5", "standalone")})
		e.Servers[0].DiskFree, e.Servers[0].DiskFullIn = c.free, c.in
		var out bytes.Buffer
		require.NoError(t, judged(addresses, e).table(&out))
		rows := strings.Split(out.String(), "\n")
		at := strings.Index(rows[0], "DISK FREE")
		require.Equal(t, c.shown, strings.TrimSpace(rows[1][at:]))
	}
}

// A leader with leaderServes=no does not answer srvr, and tells the servers and doctor what it is.
func TestStatusOfALeaderWithoutClients(t *testing.T) {
	addresses := []string{"a:1", "b:1"}
	e := seen(time.Now(), addresses, []string{"This ZooKeeper instance is not currently serving requests\n",
		cmdline.Srvr("0x100000005", "follower")})
	e.Servers[0] = findings.Server{ID: 1, Address: "a:1", Heard: time.Now(), Mode: "leader", Serving: true,
		Zxid: 0x100000005, Connections: 2, Version: "1.0"}
	var out bytes.Buffer
	require.NoError(t, judged(addresses, e).table(&out))
	rows := strings.Split(out.String(), "\n")
	require.Equal(t, "a:1 - leader 1 0x100000005 0 2 0 - - - leaves clients to the other servers",
		strings.Join(strings.Fields(rows[1]), " "))
	require.Equal(t, "follower", strings.Fields(rows[2])[2])
}

// TestStatusOfARealServer asks one: its disk is told by the client port alone.
func TestStatusOfARealServer(t *testing.T) {
	code, out, errs := run("status", startShellServer(t), "--admin-port", "0", "--output", "json")
	require.Less(t, code, 2, errs)
	require.NotContains(t, out, `"disk_free_bytes": null`)
	require.Contains(t, out, `"findings": [`)
}

// What is wrong with the ensemble is no reason why a server needs attention.
// A terminal shows what a server says, and does nothing that it says.
func TestStatusOfAHostileServer(t *testing.T) {
	_, out, errs := run("status", cmdline.Answers(t, cmdline.Hostile()...), "--admin-port", "0")
	require.NotContains(t, out+errs, "\x1b")
	for _, shown := range []string{`leader\x1b[2J`, `Warren\x1b[2J`, `a\x1b[2J`, `b\u009b2J`} {
		require.Contains(t, out, shown)
	}
}

func TestStatusOfADeadServer(t *testing.T) {
	code, out, _ := run("status", "--admin-port", "0", "127.0.0.1:1")
	require.Equal(t, exitNoQuorum, code)
	require.NotContains(t, strings.Split(out, "\n")[1], "there is no leader", "the row of the server")
	require.Contains(t, out, "no answer from 127.0.0.1:1 (connection refused")
	fails(t, cli.ExitUsage, "no server is named", "status", "--servers", "")
}

// With --client-configuration, servers that a zoo.cfg names are asked at the ports that speak TLS.
func TestServersOfAZooCfg(t *testing.T) {
	t.Chdir(t.TempDir())
	put := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	put("plain.cfg", "")
	put("tls.cfg", "zookeeper.client.secure=true\n")
	const (
		plain = "server.1=a:1:2;2181\nserver.2=b:1:2;2182\n"
		both  = "server.1=a:1:2;2181;3181\nserver.2=b:1:2;2182;10.0.0.2:3182\n"
	)
	for text, want := range map[string][2][]string{
		plain:                           {{"a:2181", "b:2182"}, {"a:2181", "b:2182"}},
		both:                            {{"a:2181", "b:2182"}, {"a:3181", "10.0.0.2:3182"}},
		plain + "secureClientPort=2281": {{"a:2181", "b:2182"}, {"a:2281", "b:2281"}},
		both + "secureClientPort=3181":  {{"a:2181", "b:2182"}, {"a:3181", "10.0.0.2:3182"}},
		"server.1=a:1:2\nserver.2=b:1:2\nclientPort=2181\nsecureClientPort=2281": {{"a:2181", "b:2181"},
			{"a:2281", "b:2281"}},
		"clientPort=2181\nsecureClientPort=2281\nsecureClientPortAddress=10.0.0.1": {{"127.0.0.1:2181"},
			{"10.0.0.1:2281"}},
	} {
		put("zoo.cfg", text)
		for i, settings := range []string{"plain.cfg", "tls.cfg"} {
			o := statusOptions{config: "zoo.cfg"}
			cmd := &cobra.Command{}
			o.AddTo(cmd)
			require.NoError(t, cmd.Flags().Set("client-configuration", settings))
			require.NoError(t, o.addresses(cmd, nil))
			require.Equal(t, want[i], o.servers, "%s with %s", text, settings)
		}
	}
}
