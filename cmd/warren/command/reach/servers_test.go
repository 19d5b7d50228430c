package reach

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
)

func TestWithPort(t *testing.T) {
	for address, want := range map[string]string{
		"zk1": "zk1:2181", "zk1:2182": "zk1:2182", "10.0.0.1": "10.0.0.1:2181", "[::1]:5": "[::1]:5",
		"[::1]": "[::1]:2181", "::1": "[::1]:2181", "fe80::1%eth0": "[fe80::1%eth0]:2181",
		"[fe80::1%eth0]:5": "[fe80::1%eth0]:5", "[fe80::1%eth0]": "[fe80::1%eth0]:2181", "zk1:2181:x": "zk1:2181:x",
	} {
		require.Equal(t, want, WithPort(address))
	}
}

func TestClientPortOf(t *testing.T) {
	for line, want := range map[string]string{
		"zk1:2888:3888":                      "zk1:2182",
		"zk1:2888:3888;2181":                 "zk1:2181",
		"zk1:2888:3888;0.0.0.0:2181":         "zk1:2181",
		"[fd00::1]:2888:3888;[::]:2181":      "[fd00::1]:2181",
		"10.0.0.1:2888:3888;10.1.0.1:2181":   "10.1.0.1:2181",
		"zk1:2888:3888;127.0.0.1:2181":       "zk1:2181",
		"localhost:2888:3888;127.0.0.1:2181": "localhost:2181",
		"127.0.0.1:2888:3888;0.0.0.0:2181":   "127.0.0.1:2181",
		"zk1:2888:3888;;2281":                "zk1:2182",
	} {
		q, err := config.ParseMembers([]byte("server.1=" + line))
		require.NoError(t, err)
		require.Equal(t, want, ClientPortOf(&q.Members[0], 2182), line)
	}
	q, err := config.ParseMembers([]byte("server.1=zk1:2888:3888"))
	require.NoError(t, err)
	require.Empty(t, ClientPortOf(&q.Members[0], config.PortUnset))
}

// A list with a comma too many, or an empty variable of a script, does not name the server of this machine.
func TestNamedServers(t *testing.T) {
	named := func(args ...string) ([]string, error) {
		var servers []string
		cmd := &cobra.Command{}
		AddServers(cmd.Flags(), &servers)
		return servers, NamedServers(cmd, &servers, args)
	}
	for _, args := range [][]string{{"zk1,zk2:2182"}, {"zk1,zk2:2182,"}, {"zk1, zk2:2182", "zk1:2181"}, {"zk1", "",
		",zk2:2182"}} {
		servers, err := named(args...)
		require.NoError(t, err, "%q", args)
		require.Equal(t, []string{"zk1:2181", "zk2:2182"}, servers, "%q", args)
	}
	servers, err := named()
	require.NoError(t, err)
	require.Equal(t, []string{LocalServer}, servers)
	for _, name := range []string{"", " ", ","} {
		_, err := named(name)
		require.ErrorContains(t, err, "no server is named", "%q", name)
	}
	_, err = Address(&cobra.Command{}, "")
	require.ErrorContains(t, err, "no server is named")
}
