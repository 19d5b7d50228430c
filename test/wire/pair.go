package wire

import (
	"net"
	"testing"

	"github.com/seed94657493/warren/test/must"
)

// Pair is the two ends of a connection over loopback, which end with the test.
func Pair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	client = must.Dial(t, ln.Addr().String())
	server = must.Do(ln.Accept())(t)
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}
