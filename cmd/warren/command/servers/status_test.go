package servers

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/test/cmdline"
)

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
			cmdline.Srvr("0x200000005", "observer")}, 0, "healthy", nil},
		{"standalone", []string{cmdline.Srvr("0x5", "standalone")}, 0, "healthy", nil},
		{"one down", []string{cmdline.Srvr("0x200000005", "leader"), idle, cmdline.Srvr("0x200000005", "follower")}, 1,
			"1 of 3 servers", []string{"", "does not serve", ""}},
		{"lagging", []string{cmdline.Srvr("0x200000f05", "leader"), cmdline.Srvr("0x200000005", "follower")}, 1,
			"1 of 2", []string{"", "lags 3840 txns"}},
		{"other epoch", []string{cmdline.Srvr("0x300000005", "leader"), cmdline.Srvr("0x200000005", "follower")}, 1,
			"1 of 2", []string{"", "another epoch"}},
		{"read-only", []string{cmdline.Srvr("0x300000005", "leader"), cmdline.Srvr("0x300000005", "read-only")}, 1,
			"1 of 2", []string{"", "lost the quorum"}},
		{"one follower alone", []string{cmdline.Srvr("0x500000001", "follower")}, 0,
			"healthy: a server that was not asked leads", nil},
		{"followers alone", []string{cmdline.Srvr("0x500000001", "follower"), cmdline.Srvr("0x500000001", "observer")},
			0, "healthy: a server that was not asked leads", nil},
		{"read-only alone", []string{cmdline.Srvr("0x500000001", "read-only")}, 2, "no server leads", nil},
		{"no leader", []string{idle, idle, cmdline.Srvr("0x5", "follower")}, 2, "no server leads", nil},
		{"two leaders", []string{cmdline.Srvr("0x5", "leader"), cmdline.Srvr("0x5", "leader")}, 2,
			"2 servers say", nil},
		{"nonsense", []string{"\x00\xff", cmdline.Srvr("0x5", "leader")}, 1, "1 of 2",
			[]string{"answers srvr with", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st := &clusterStatus{}
			for _, text := range c.answers {
				var s reach.Status
				if err := s.Parse(text); err != nil {
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

// TestStatusShowsTheDisk asks a server whose admin port tells the free space of two disks: the smaller one counts, and
// a forecast of less than 30 days. The admin port of another server counts for nothing.
func TestStatusShowsTheDisk(t *testing.T) {
	addr := startShellServer(t)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	for _, c := range []struct{ clientPort, forecast, shown, full string }{
		{port, "-1", "1.5 GiB", "null"}, {port, "2592000", "1.5 GiB", "null"}, {port, "NaN", "1.5 GiB", "null"},
		{port, "1e+300", "1.5 GiB", "null"}, {port, "2591999", "1.5 GiB, full in 29d 23h", "2591999"},
		{port, "5400.5", "1.5 GiB, full in 1h 30m", "5400"}, {port, "0", "1.5 GiB, full in 0m", "0"},
		{"1", "60", "-", "null"},
	} {
		admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/commands/configuration":
				fmt.Fprintf(w, `{"client_port":%s}`, c.clientPort)
			case "/metrics":
				fmt.Fprintf(w, "warren_server_disk_free_bytes{disk=\"data\"} 2.5e+12\n"+
					"warren_server_disk_free_bytes{disk=\"log\"} %d\nwarren_server_disk_full 0\n"+
					"warren_server_disk_full_in_seconds %s\n", 3<<29, c.forecast)
			default:
				http.NotFound(w, r)
			}
		}))
		_, adminPort, err := net.SplitHostPort(admin.Listener.Addr().String())
		require.NoError(t, err)
		code, out, errs := run("status", addr, "--admin-port", adminPort)
		_, record, _ := run("status", addr, "--admin-port", adminPort, "--output", "json")
		admin.Close()
		require.Contains(t, record, `"disk_full_in_seconds": `+c.full+",")
		require.Zero(t, code, errs)
		rows := strings.Split(out, "\n")
		require.Contains(t, rows[0], "DISK FREE")
		at := strings.Index(rows[0], "DISK FREE")
		require.Equal(t, c.shown, strings.TrimSpace(rows[1][at:]))
	}
}
