package server

import (
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/cluster"
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

func TestClientPortIsPlainTCP(t *testing.T) {
	s := serveMem(t, configured(t), nil)
	require.Equal(t, unix.IPPROTO_TCP, option(t, s.front.ClientListener(serve.SpeaksPlain).Listener,
		func(fd int) (int, error) {
			return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		}))
}

// A client port that moves to another host, with the same number, is open at the old one until it is at the new one,
// but for a moment. The old listener makes room for one on all addresses.
func TestClientPortMovesToAnotherHost(t *testing.T) {
	core, logged := observer.New(zap.ErrorLevel)
	cfg := configured(t)
	cfg.ClientPort = cluster.FreePort(t)
	s := serveMem(t, cfg, zap.New(core))
	takes := func(host string) bool {
		nc, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(cfg.ClientPort)))
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	}
	moves := func(host string, triedBefore bool) bool {
		return s.front.MoveClientPort(config.HostPort{Host: host, Port: cfg.ClientPort}, "clientPort",
			serve.SpeaksPlain, triedBefore)
	}
	const elsewhere = "192.0.2.1" // not an address of this machine
	require.False(t, moves(elsewhere, false))
	require.True(t, takes("127.0.0.1"))
	require.Equal(t, 1, logged.Len())
	open := s.front.ClientListener(serve.SpeaksPlain)
	require.False(t, moves(elsewhere, true))
	require.Same(t, open, s.front.ClientListener(serve.SpeaksPlain), "later attempts leave the old listener alone")
	require.Equal(t, 1, logged.Len())

	require.True(t, moves("127.0.0.2", true))
	require.True(t, takes("127.0.0.2"))
	require.False(t, takes("127.0.0.1"))
	require.True(t, moves("", false))
	require.True(t, takes("127.0.0.1"))
	require.Equal(t, 1, logged.Len())
}
