package doctor

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// TestCommandsWithASilentNameServer asks servers by names that do not resolve. Whether they serve is not known then,
// and no command says more, or takes longer than its timeout.
func TestCommandsWithASilentNameServer(t *testing.T) {
	t.Parallel()
	names := cluster.NewNameServer(t, 2)
	names.Become(cluster.Mute)
	binary := cluster.Binary(t)
	for command, code := range map[string]int{"status": 1, "doctor": 2} {
		cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`,
			names.File, binary, command, "--timeout", "1s", cluster.NameOf(1), cluster.NameOf(2))
		var out bytes.Buffer
		cmd.Stdout = &out
		watch := cluster.NewWatch()
		require.Error(t, cmd.Run())
		require.Less(t, watch.Elapsed(), 10*time.Second, "it waits for the name server again and again")
		require.Equal(t, code, cmd.ProcessState.ExitCode(), out.String())
		require.Contains(t, out.String(), "zk-2.warren.test:2181")
		require.Contains(t, out.String(), "cannot be asked by its name: the name server does not answer")
		require.Contains(t, out.String(), "whether clients are served is not known")
		require.NotContains(t, strings.ToLower(out.String()), "there is no leader")
	}
}
