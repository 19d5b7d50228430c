package abuse

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestFileDescriptorsAreKeptForTheLog takes all file descriptors of a server by connections to every port of it. The
// server goes on to begin log files and to write snapshots, and tells why it refuses connections.
func TestFileDescriptorsAreKeptForTheLog(t *testing.T) {
	tg := startTarget(t, 1, map[string]string{"snapCount": "100", "maxClientCnxns": "0", "preAllocSize": "64",
		"txnLogSizeLimitInKb": "64"})
	n := tg.nodes[0]
	limit := unix.Rlimit{Cur: 256, Max: 256}
	require.NoError(t, unix.Prlimit(n.Pid(), unix.RLIMIT_NOFILE, &limit, nil))
	c, err := wire.Dial(n.Addr(), wire.Options{TimeoutMs: 30_000})
	require.NoError(t, err)
	defer c.Close()
	for _, addr := range []string{n.Addr(), tg.tls, tg.admin, tg.metrics} {
		for range 300 {
			if nc, err := net.Dial("tcp", addr); err == nil { // else it was refused already
				defer nc.Close()
			}
		}
	}
	for i := range 2000 {
		_, err := c.Create(fmt.Sprintf("/n%d", i), make([]byte, 128), proto.ModePersistent)
		require.NoError(t, err)
	}
	_, err = wire.Dial(n.Addr(), wire.Options{})
	require.Error(t, err, "a connection that leaves too few")
	require.Eventually(t, func() bool { return filesOf(t, n, "log.") > 3 && filesOf(t, n, "snapshot.") > 1 },
		time.Minute, 20*time.Millisecond, "log files and snapshots")
	require.Eventually(t, func() bool { // silent connections have the places for words for some seconds
		text, err := wire.FourLetter(n.Addr(), "srvr", time.Minute)
		return err == nil && strings.Contains(text, "Mode: standalone")
	}, time.Minute, 100*time.Millisecond, "a word")
	resp, err := http.Get("http://" + tg.admin + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, n.Log(), "too many connections: the last file descriptors are for files and servers")
	require.NotContains(t, n.Log(), "too many open files")
	require.True(t, n.Running())
}

// filesOf is how many files of a server's data directory have names that begin with prefix.
func filesOf(t *testing.T, n *cluster.Node, prefix string) (count int) {
	entries, err := os.ReadDir(n.DataDir() + "/version-2")
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			count++
		}
	}
	return count
}
