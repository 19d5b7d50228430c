package serve

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// listening returns a front that takes connections.
func listening(t *testing.T, set func(*config.Config)) *Front {
	s := newFront()
	s.Config.ClientPort, s.Config.ClientPortAddress = 0, "127.0.0.1"
	set(s.Config)
	require.NoError(t, s.Listen(nil))
	t.Cleanup(s.CloseClientPorts)
	s.AcceptAll()
	return s
}

// option reads an option of a socket.
func option(t *testing.T, socket any, get func(fd int) (int, error)) (value int) {
	t.Helper()
	raw := must.Do(socket.(syscall.Conn).SyscallConn())(t)
	var failed error
	require.NoError(t, raw.Control(func(fd uintptr) { value, failed = get(int(fd)) }))
	require.NoError(t, failed)
	return value
}

func TestListenBacklog(t *testing.T) {
	backlog := func(setting int) int {
		s := listening(t, func(c *config.Config) { c.ListenBacklog = setting })
		return option(t, s.listenerFor(speaksPlain).Listener, func(fd int) (int, error) {
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				return 0, err
			}
			return int(info.Sacked), nil // on a listening socket: its backlog
		})
	}
	require.Equal(t, 7, backlog(7))
	require.Greater(t, backlog(config.Default().ListenBacklog), 100)
}

func TestClientPortIsPlainTCP(t *testing.T) {
	s := listening(t, func(*config.Config) {})
	require.Equal(t, unix.IPPROTO_TCP, option(t, s.listenerFor(speaksPlain).Listener,
		func(fd int) (int, error) {
			return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		}))
}

// A client port that moves to another host, with the same number, is open at the old one until it is at the new one,
// but for a moment. The old listener makes room for one on all addresses.
func TestClientPortMovesToAnotherHost(t *testing.T) {
	core, logged := observer.New(zap.ErrorLevel)
	port := cluster.FreePort(t)
	s := listening(t, func(c *config.Config) { c.ClientPort = port })
	s.Log = zap.New(core)
	takes := func(host string) bool {
		nc, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	}
	moves := func(host string, triedBefore bool) bool {
		return s.MoveClientPort(config.HostPort{Host: host, Port: port}, "clientPort",
			speaksPlain, triedBefore)
	}
	const elsewhere = "192.0.2.1" // not an address of this machine
	require.False(t, moves(elsewhere, false))
	require.True(t, takes("127.0.0.1"))
	require.Equal(t, 1, logged.Len())
	open := s.listenerFor(speaksPlain)
	require.False(t, moves(elsewhere, true))
	require.Same(t, open, s.listenerFor(speaksPlain), "later attempts leave the old listener alone")
	require.Equal(t, 1, logged.Len())

	require.True(t, moves("127.0.0.2", true))
	require.True(t, takes("127.0.0.2"))
	require.False(t, takes("127.0.0.1"))
	require.True(t, moves("", false))
	require.True(t, takes("127.0.0.1"))
	require.Equal(t, 1, logged.Len())
}

// A client port that was closed in vain, and could not be opened again at once, is opened by a later attempt.
func TestClientPortThatIsOpenNowhere(t *testing.T) {
	port := cluster.FreePort(t)
	at := func(host string) config.HostPort { return config.HostPort{Host: host, Port: port} }
	for name, later := range map[string]func(s *Front) bool{
		"the new address is tried again": func(s *Front) bool {
			return !s.MoveClientPort(at("192.0.2.1"), "clientPort", speaksPlain, true)
		},
		"the old one is configured again": func(s *Front) bool {
			return s.MoveClientPort(at("127.0.0.1"), "clientPort", speaksPlain, false)
		},
	} {
		s := listening(t, func(c *config.Config) { c.ClientPort = port })
		refuses := true
		s.listen = func(network, address string) (net.Listener, error) {
			if refuses {
				return nil, syscall.EADDRINUSE
			}
			return listenTCP(network, address)
		}
		require.False(t, s.MoveClientPort(at("192.0.2.1"), "clientPort", speaksPlain, false), name)
		refuses = false
		require.True(t, later(s), name)
		nc, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		require.NoError(t, err, name)
		require.NoError(t, nc.Close())
		s.CloseClientPorts()
	}
}

func TestKeepAliveOfClients(t *testing.T) {
	for on, want := range map[bool]int{true: 1, false: 0} {
		s := listening(t, func(c *config.Config) { c.TCPKeepAlive = on })
		must.Dial(t, s.Addr().String())
		require.Eventually(t, func() bool { return s.Conns.Len() == 1 }, time.Minute, time.Millisecond)
		// The reader begins behind the call that sets the option.
		require.Eventually(t, func() bool {
			got := -1
			s.Conns.Each(func(c *Conn) {
				got = option(t, c.nc, func(fd int) (int, error) {
					return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE)
				})
			})
			return got == want
		}, time.Minute, time.Millisecond, "%v", on)
	}
}
