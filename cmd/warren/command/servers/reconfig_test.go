package servers

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

func TestReconfigNeedsServers(t *testing.T) {
	const line = "server.1=a:2888:3888;2181"
	for _, test := range []struct {
		env, args []string
		want      string
	}{
		{nil, nil, "name the wanted servers"},
		{[]string{"ALLOW_ANONYMOUS_LOGIN=yes"}, nil, "name the wanted servers"},
		{nil, []string{"server.1=a:2888:3888"}, "the line of server 1 has no client port"},
		{nil, []string{"a:2888:3888;2181"}, "Unrecognised parameter"},
		{nil, []string{line, line}, "server 1 is given twice"},
		{nil, []string{"--config", "zoo.cfg", line}, "as arguments or with --config, not both"},
		{[]string{"ALLOW_ANONYMOUS_LOGIN=no", "ZOO_SERVERS=a:1:2"}, nil, "clients are not authenticated"},
	} {
		for _, e := range test.env {
			name, value, _ := bytes.Cut([]byte(e), []byte("="))
			t.Setenv(string(name), string(value))
		}
		var out, errs bytes.Buffer
		require.Equal(t, cli.ExitUsage,
			cli.Run(cli.Root(Commands()...), append([]string{"reconfig"}, test.args...), &out, &errs), "%v", test.args)
		require.Contains(t, errs.String(), test.want)
	}
}

// Servers join before others leave, the last one leaves first, and an ensemble of other servers is not touched.
func TestReconfigSteps(t *testing.T) {
	members := func(numbers ...string) *config.Quorum {
		text := ""
		for _, id := range numbers {
			text += "server." + id + "=zk" + id + ":2888:3888;2181\n"
		}
		q := must.Do(config.ParseMembers([]byte(text)))(t)
		return q
	}
	id := func(m *config.Member) int64 {
		if m == nil {
			return 0
		}
		return m.ID
	}
	for _, test := range []struct {
		current, wanted []string
		leaveOnly       bool
		join, leave     int64
	}{
		{[]string{"1", "2", "3"}, []string{"1", "2", "3"}, false, 0, 0},
		{[]string{"1", "2", "3"}, []string{"1", "2", "3", "4", "5"}, false, 4, 0},
		{[]string{"1", "2", "3"}, []string{"1", "2", "3", "4", "5"}, true, 0, 0},
		{[]string{"1", "2", "3", "4", "5"}, []string{"1", "2", "3"}, true, 0, 5},
		{[]string{"1", "2"}, []string{"1", "3"}, false, 3, 2},
		{nil, []string{"1", "2", "3"}, true, 0, 0},
	} {
		o := reconfigOptions{wanted: members(test.wanted...), leaveOnly: test.leaveOnly}
		join, leave := must.Do2(o.difference(members(test.current...)))(t)
		require.Equal(t, []int64{test.join, test.leave}, []int64{id(join), id(leave)}, "%+v", test)
	}
	for _, current := range []*config.Quorum{members("7", "8"), members()} {
		o := reconfigOptions{wanted: members("1", "2", "3")}
		require.ErrorContains(t, must.Err2(o.difference(current)), "another ensemble, or a server alone")
	}
}
