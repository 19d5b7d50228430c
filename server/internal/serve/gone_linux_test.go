package serve

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/test/must"
)

func TestGoneFindsConnectionsThatEndedSilently(t *testing.T) {
	ln := must.Listen(t)
	for name, c := range map[string]struct {
		client func(*net.TCPConn) error
		gone   bool
		hungUp bool
	}{
		"waits": {func(*net.TCPConn) error { return nil }, false, false},
		"sent something": {func(nc *net.TCPConn) error { _, err := nc.Write([]byte("ruok")); return err },
			false, false},
		"sent a word and end": {func(nc *net.TCPConn) error {
			_, _ = nc.Write([]byte("ruok"))
			return nc.CloseWrite()
		}, false, true},
		"ended": {(*net.TCPConn).CloseWrite, true, true},
		"reset": {func(nc *net.TCPConn) error { _ = nc.SetLinger(0); return nc.Close() },
			true, true},
	} {
		client := must.Do(net.Dial("tcp", ln.Addr().String()))(t)
		defer client.Close()
		require.NoError(t, c.client(client.(*net.TCPConn)))
		accepted := must.Do(ln.Accept())(t)
		require.Eventually(t, func() bool { return newPeek().gone(accepted) == c.gone }, time.Minute,
			time.Millisecond, name)
		require.Eventually(t, func() bool { return hungUp(socket.Raw(accepted)) == c.hungUp }, time.Minute,
			time.Millisecond, name)
		accepted.Close()
	}
	require.False(t, newPeek().gone(struct{ net.Conn }{}), "not a socket")
}
