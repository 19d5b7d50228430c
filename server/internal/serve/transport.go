package serve

import (
	"io"
	"net"
	"syscall"

	"github.com/seed94657493/warren/server/internal/socket"
)

// transport is the socket of a connection, or what takes its place. It does not change after the reader has begun,
// except that the reader may find that the client does not speak TLS, before any other goroutine knows the connection.
// The reader reads. Only the goroutine that has set output.writing writes. Any goroutine may close it.
type transport struct {
	nc     net.Conn
	raw    syscall.RawConn // nil if nc is not a socket
	secure *secureConn     // nc, as long as it may be TLS; see tls.go
	now    socket.Writer
}

// errNotReady tells that the socket has nothing at the moment. crypto/tls does not give up on an error of this form.
var errNotReady = &notReadyError{}

type notReadyError struct{}

func (*notReadyError) Error() string   { return "socket is not ready" }
func (*notReadyError) Timeout() bool   { return true }
func (*notReadyError) Temporary() bool { return true }

// readNow reads from the socket fd without waiting. It returns errNotReady if the socket has nothing, or no whole
// record of TLS.
func (t *transport) readNow(fd uintptr, b []byte) (int, error) {
	if t.secure == nil {
		return readSocket(int(fd), b)
	}
	t.secure.below.fd = int(fd)
	defer func() { t.secure.below.fd = -1 }()
	return t.secure.tls.Read(b)
}

// readSocket reads once from a socket without waiting.
func readSocket(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, errNotReady
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// writeNow writes without waiting and returns how many bytes the socket took.
func (t *transport) writeNow(b []byte) (int, error) {
	if t.raw == nil || t.secure != nil {
		return 0, nil // not a plain socket: writeRest writes, and may wait
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

// insideConn is the server's end of a connection within the process.
type insideConn struct {
	net.Conn
	remote net.Addr // of the browser or program for which the connection was made
}

// RemoteAddr returns the address for logs and limits.
func (c insideConn) RemoteAddr() net.Addr { return c.remote }
