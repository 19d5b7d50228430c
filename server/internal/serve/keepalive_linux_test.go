package serve

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestKeepAliveOfClients(t *testing.T) {
	for on, want := range map[bool]int{true: 1, false: 0} {
		s := newFront()
		s.Config.ClientPort, s.Config.ClientPortAddress, s.Config.TCPKeepAlive = 0, "127.0.0.1", on
		require.NoError(t, s.Listen(nil))
		t.Cleanup(s.CloseClientPorts)
		s.AcceptAll()
		client, err := net.Dial("tcp", s.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		require.Eventually(t, func() bool { return s.Conns.Len() == 1 }, time.Minute, time.Millisecond)
		// The reader begins behind the call that sets the option.
		require.Eventually(t, func() bool {
			got := -1
			s.Conns.Each(func(c *Conn) {
				require.NoError(t, c.raw.Control(func(fd uintptr) {
					got, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE)
				}))
			})
			return err == nil && got == want
		}, time.Minute, time.Millisecond, "%v", on)
	}
}
