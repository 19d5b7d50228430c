package peers

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// option reads an option of the socket of a connection.
func option(t *testing.T, nc net.Conn, level, name int) int {
	t.Helper()
	raw, err := tcpOf(nc).SyscallConn()
	require.NoError(t, err)
	value := 0
	require.NoError(t, raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), level, name) }))
	require.NoError(t, err)
	return value
}

// Both sides of links and of election channels are tuned as the configuration says, and election channels never wait
// for more to send.
func TestSocketOptions(t *testing.T) {
	for _, run := range []struct {
		name                       string
		configure                  func(*Config)
		keepAlive                  int
		noDelayLeader, noDelayLink int
	}{
		{"default", func(*Config) {}, 1, 1, 1},
		{"no keep-alive", func(c *Config) { c.NoKeepAlive = true }, 0, 1, 1},
		{"leader gathers", func(c *Config) { c.NagleAccepted = true }, 1, 0, 1},
		{"learner gathers", func(c *Config) { c.NagleDialled = true }, 1, 1, 0},
	} {
		t.Run(run.name, func(t *testing.T) {
			w := newWorld(t, 3, 3)
			leader, follower := w.start(3, run.configure), w.start(1, run.configure)
			mine, its := follower.follow(leader)
			require.Equal(t, run.noDelayLink, option(t, mine.nc, syscall.IPPROTO_TCP, syscall.TCP_NODELAY))
			require.Equal(t, run.noDelayLeader, option(t, its.nc, syscall.IPPROTO_TCP, syscall.TCP_NODELAY))
			for _, l := range []*Link{mine, its} {
				require.Equal(t, run.keepAlive, option(t, l.nc, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE))
			}
			leader.peers.SendElection(vote(1, 1))
			follower.heard(3, 1)
			for _, c := range []*channel{leader.peers.election.find(1), follower.peers.election.find(3)} {
				c.mu.Lock()
				nc := c.mu.conn
				c.mu.Unlock()
				require.Equal(t, run.keepAlive, option(t, nc, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE))
				require.Equal(t, 1, option(t, nc, syscall.IPPROTO_TCP, syscall.TCP_NODELAY))
			}
		})
	}
}
