package socket

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// A connection that is answered by the kernel of the other side is not silent, although its process reads nothing,
// and even if there is no room for more bytes.
func TestUnacknowledgedByAProcessThatStandsStill(t *testing.T) {
	ln := must.Listen(t)
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer nc.Close()
	tcp := nc.(*net.TCPConn)
	require.Zero(t, Unacknowledged(tcp), "nothing was sent")
	require.NoError(t, nc.SetWriteDeadline(time.Now().Add(time.Second)))
	for err == nil {
		_, err = nc.Write(make([]byte, 1<<20))
	}
	require.ErrorContains(t, err, "timeout", "the buffers are full")
	for range 30 {
		time.Sleep(100 * time.Millisecond)
		require.Less(t, Unacknowledged(tcp), time.Second)
	}
	require.NoError(t, nc.Close())
	require.Zero(t, Unacknowledged(tcp), "it is closed")
}
