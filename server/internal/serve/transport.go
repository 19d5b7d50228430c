package serve

import (
	"net"
	"syscall"

	"github.com/seed94657493/warren/server/internal/socket"
)

// transport is the socket of a connection, or what takes its place. It does not change after the reader has begun,
// except that the reader may find that the client does not speak TLS, before any other goroutine knows the connection.
// The reader reads. Only the goroutine that has set output.writing writes. Any goroutine may close it.
type transport struct {
	nc       net.Conn
	raw      syscall.RawConn       // nil if nc is not a socket
	secure   *secureConn           // nc, as long as it may be TLS; see tls.go
	readFunc func(fd uintptr) bool // reads once; made once for each connection
	now      socket.Writer
}

// writeNow writes without waiting and returns how many bytes the socket took.
func (t *transport) writeNow(b []byte) (int, error) {
	if t.raw == nil || t.secure != nil {
		return 0, nil // not a plain socket: drain writes, and may wait
	}
	return t.now.WriteNow(t.raw, b)
}

// portion is the part of b that is written under one deadline. For TLS that is one record, because a TLS write
// cannot be resumed after a deadline.
func (t *transport) portion(b []byte) []byte {
	if t.secure == nil {
		return b
	}
	return b[:min(len(b), 16<<10)]
}

// closeWrite tells the client that nothing follows, and leaves the read side open if it can.
func (t *transport) closeWrite() {
	if half, ok := t.nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = t.nc.Close()
}

// inside reports whether the client is in this process.
func (t *transport) inside() bool {
	_, is := t.nc.(insideConn)
	return is
}
