package reach

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
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
	require.Equal(t, []string{LocalServer}, must.Do(named())(t))
	for _, name := range []string{"", " ", ","} {
		require.ErrorContains(t, must.Err(named(name)), "no server is named", "%q", name)
	}
	require.ErrorContains(t, must.Err(Address(&cobra.Command{}, "")), "no server is named")
}
