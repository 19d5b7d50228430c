package server

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/wire"
)

// option reads an option of a socket.
func option(t *testing.T, socket any, get func(fd int) (int, error)) (value int) {
	t.Helper()
	raw, err := socket.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	var failed error
	require.NoError(t, raw.Control(func(fd uintptr) { value, failed = get(int(fd)) }))
	require.NoError(t, failed)
	return value
}

func TestListenBacklog(t *testing.T) {
	backlog := func(lines ...string) int {
		s := serveMem(t, configured(t, lines...), nil)
		return option(t, s.front.ClientListener(serve.SpeaksPlain).Listener, func(fd int) (int, error) {
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				return 0, err
			}
			return int(info.Sacked), nil // on a listening socket: its backlog
		})
	}
	require.Equal(t, 7, backlog("clientPortListenBacklog=7"))
	require.Greater(t, backlog("clientPortListenBacklog=-1"), 100)
	require.Equal(t, backlog("clientPortListenBacklog=-1"), backlog())
}

func TestKeepAliveOfClients(t *testing.T) {
	for text, want := range map[string]int{"true": 1, "false": 0} {
		s := serveMem(t, configured(t, "clientTcpKeepAlive="+text), nil)
		dialWire(t, s, wire.Options{})
		n := 0
		s.front.Conns.Each(func(c *serve.Conn) {
			n++
			require.Equal(t, want, option(t, c.NC, func(fd int) (int,
				error) {
				return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE)
			}), text)
		})
		require.Equal(t, 1, n)
	}
}

func TestClientPortIsPlainTCP(t *testing.T) {
	s := serveMem(t, configured(t), nil)
	require.Equal(t, unix.IPPROTO_TCP, option(t, s.front.ClientListener(serve.SpeaksPlain).Listener,
		func(fd int) (int, error) {
			return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		}))
}
