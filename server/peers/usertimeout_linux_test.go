package peers

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both sides of a link give up on what is not acknowledged.
func TestUserTimeout(t *testing.T) {
	_, _, mine, its := linked(t)
	for _, l := range []*Link{mine, its} {
		raw, err := l.nc.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		ms := 0
		require.NoError(t, raw.Control(func(fd uintptr) {
			ms, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
		}))
		require.NoError(t, err)
		require.EqualValues(t, l.p.cfg.Timeouts.Write.Milliseconds(), ms)
	}
}
