package abuse

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// noDescriptors is why a server refuses clients that would take its last file descriptors.
const noDescriptors = "too many connections: the last file descriptors are reserved for files and other servers"

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
		c.MustCreate(t, fmt.Sprintf("/n%d", i), make([]byte, 128), proto.ModePersistent)
	}
	for i := 0; err == nil; i++ { // the server ends silent connections now and then
		require.Less(t, i, int(limit.Cur), "a connection that leaves too few")
		var more *wire.Conn
		if more, err = wire.Dial(n.Addr(), wire.Options{}); err == nil {
			defer more.Close()
		}
	}
	require.Eventually(t, func() bool { return filesOf(t, n, "log.") > 3 && filesOf(t, n, "snapshot.") > 1 },
		time.Minute, 20*time.Millisecond, "log files and snapshots")
	require.Eventually(t, func() bool { // silent connections have the places for words for some seconds
		text, err := wire.FourLetter(n.Addr(), "srvr", time.Minute)
		return err == nil && strings.Contains(text, "Mode: standalone")
	}, time.Minute, 100*time.Millisecond, "a word")
	resp := must.Do(http.Get("http://" + tg.admin + "/metrics"))(t)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, n.Log(), noDescriptors)
	require.NotContains(t, n.Log(), "too many open files")
	require.True(t, n.Running())
}

// filesOf is how many files of a server's data directory have names that begin with prefix.
func filesOf(t *testing.T, n *cluster.Node, prefix string) (count int) {
	entries := must.ReadDir(t, n.DataDir()+"/version-2")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			count++
		}
	}
	return count
}

// TestServersFindEachOtherWithoutDescriptors takes all file descriptors of a follower, and then of a leader, by
// connections to every port. The follower follows, takes part in an election, and finds the new leader. The leader
// takes back a follower that was away.
func TestServersFindEachOtherWithoutDescriptors(t *testing.T) {
	tg := startTarget(t, 3, map[string]string{"maxClientCnxns": "0", "initLimit": "30"})
	scarce := tg.nodes[slices.IndexFunc(tg.nodes, func(n *cluster.Node) bool { return modeOf(n) == "follower" })]
	exhaust(t, scarce)
	var leader, other *cluster.Node
	for _, n := range tg.nodes {
		switch {
		case n == scarce:
		case modeOf(n) == "leader":
			leader = n
		default:
			other = n
		}
	}
	writes := 0
	write := func(at *cluster.Node) {
		writes++
		c := must.Do(wire.Dial(at.Addr(), wire.Options{TimeoutMs: 30_000}))(t)
		defer c.Close()
		c.MustCreate(t, fmt.Sprintf("/n%d", writes), nil, proto.ModePersistent)
	}
	// With one of three away, nothing is written without the server that has no descriptors.
	other.Kill()
	write(leader)
	other.Start()
	leader.Kill()
	other.WaitServing()
	write(other)
	leader.Start()
	write(leader)

	lead := scarce // which is not asked: it has no place for a word
	for _, n := range []*cluster.Node{leader, other} {
		if modeOf(n) == "leader" {
			lead = n
			exhaust(t, lead)
		}
	}
	for _, n := range []*cluster.Node{leader, other} {
		if n == lead {
			continue
		}
		n.Kill()
		n.Start()
		require.Equal(t, "follower", modeOf(n))
		write(n)
	}
	for _, n := range tg.nodes {
		require.True(t, n.Running())
		require.NotContains(t, n.Log(), "too many open files")
	}
	require.Contains(t, scarce.Log(), noDescriptors)
	require.Contains(t, lead.Log(), noDescriptors)
}

// exhaust leaves a server few file descriptors, and takes as many as it gets at each port until the test ends: a
// connection that the server closes is replaced.
func exhaust(t *testing.T, n *cluster.Node) {
	t.Helper()
	limit := unix.Rlimit{Cur: 256, Max: 256}
	require.NoError(t, unix.Prlimit(n.Pid(), unix.RLIMIT_NOFILE, &limit, nil))
	var all sync.WaitGroup
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); all.Wait() })
	for i, addr := range []string{n.Addr(), n.ElectionAddr(), n.LearnerAddr()} {
		full := make(chan struct{})
		all.Go(func() {
			d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 1, byte(i))}}
			var open []net.Conn
			for dialled := 0; ; dialled++ {
				if dialled == 400 {
					close(full)
				}
				wait := time.Millisecond
				if dialled >= 400 {
					wait = 10 * time.Millisecond
				}
				select {
				case <-stop:
					for _, nc := range open {
						nc.Close()
					}
					return
				case <-time.After(wait):
				}
				nc, err := d.Dial("tcp", addr)
				if err != nil {
					continue // a follower has no learner port that listens
				}
				_ = nc.(*net.TCPConn).SetLinger(0)
				if open = append(open, nc); len(open) > 400 {
					open[0].Close()
					open = open[1:]
				}
			}
		})
		<-full
	}
}
