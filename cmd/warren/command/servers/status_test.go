package servers

import (
	"bytes"
	"strings"
	"testing"

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
