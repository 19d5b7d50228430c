//go:build interop

package ensemble

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestDamagedEpochFiles starts a member of either kind whose epoch files are damaged. Warren has no meta.db there, as
// in a directory that Java has left. What Java refuses Warren refuses, but for one thing that a crash may leave.
func TestDamagedEpochFiles(t *testing.T) {
	const accepted, current = "acceptedEpoch", "currentEpoch"
	for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
		nodes := cluster.StartEnsemble(t, cluster.Options{Kind: kind}, cluster.Options{Kind: kind},
			cluster.Options{Kind: kind})
		conn := wire.Open(t, nodes[0].Addr(), wire.Options{})
		conn.MustCreate(t, "/n", nil, proto.ModePersistent)
		require.NoError(t, conn.CloseSession())
		conn.Close()
		n := nodes[0]
		at := func(name string) string { return filepath.Join(n.DataDir(), "version-2", name) }
		n.Stop()
		for _, name := range []string{accepted, current} {
			require.Equal(t, "1", string(must.ReadFile(t, at(name))), name)
		}
		const missing = "missing"
		for _, tt := range []struct {
			name, text string
			refused    bool
		}{
			{accepted, "1\n", false},
			{accepted, missing, false},
			{current, missing, false},
			{accepted, "one", true},
			{accepted, " 1", true},
			{accepted, "-1", true},
			{accepted, "", true},
			{current, "", true},
			{accepted, "0", true},
			{current, "2", true},
			{current, "0", kind == cluster.ZooKeeper},
		} {
			for _, name := range []string{accepted, current} {
				require.NoError(t, os.WriteFile(at(name), []byte("1"), 0o644))
			}
			if kind == cluster.Warren {
				require.NoError(t, os.RemoveAll(at("meta.db"))) // a server that refuses makes none
			}
			if tt.text == missing {
				require.NoError(t, os.Remove(at(tt.name)))
			} else {
				require.NoError(t, os.WriteFile(at(tt.name), []byte(tt.text), 0o644))
			}
			n.Launch()
			require.Equal(t, tt.refused, !serves(n), "%s with %s %q\n%s", kind, tt.name, tt.text, tail(n.Log()))
			if !tt.refused {
				n.Stop()
			} else if kind == cluster.Warren {
				require.Equal(t, 3, n.ExitCode(), "systemd must not start it again")
			}
		}
		for _, n := range nodes {
			n.Kill()
		}
	}
}

// tail is the end of a log.
func tail(log string) string { return log[max(0, len(log)-1000):] }
