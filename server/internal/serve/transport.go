package serve

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/socket"
)

// transport is the socket of a connection, or what takes its place. It does not change after the reader has begun,
// except that the reader may find that the client does not speak TLS, before any other goroutine knows the connection.
// The reader reads. Only the goroutine that has set output.writing writes. Any goroutine may close it.
type transport struct {
	nc     net.Conn
	raw    syscall.RawConn // nil if nc is not a socket
	secure *secureConn     // nc, as long as it may be TLS; see tls.go
	writer socket.Writer
}

// readNow reads from the socket fd without waiting. It returns EAGAIN if the socket has nothing, or no whole record
// of TLS; crypto/tls does not give up on that error.
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
		switch n, err := socket.Read(uintptr(fd), b); {
		case err == syscall.EINTR:
		case err == nil && n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return max(n, 0), err
		}
	}
}

// writeNow writes without waiting and returns how many bytes the socket took.
func (t *transport) writeNow(b []byte) (int, error) {
	if t.raw == nil || t.secure != nil {
		return 0, nil // not a plain socket: writeRest writes, and may wait
	}
	return t.writer.WriteNow(t.raw, b)
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

// secureConn is a client's socket on a port that takes TLS.
type secureConn struct {
	*net.TCPConn
	speaks language
	below  tlsSocket
	tls    *tls.Conn
	on     atomic.Bool // the handshake is done: TLS is spoken
}

// Write implements net.Conn.
func (s *secureConn) Write(b []byte) (int, error) {
	if s.on.Load() {
		return s.tls.Write(b)
	}
	return s.TCPConn.Write(b)
}

// Read implements net.Conn.
func (s *secureConn) Read(b []byte) (int, error) {
	if s.on.Load() {
		return s.tls.Read(b)
	}
	return s.TCPConn.Read(b)
}

// CloseWrite tells the client that nothing follows. If a goroutine is writing at the moment, the client is told by
// TCP only, without an alert of TLS. CloseWrite never waits.
func (s *secureConn) CloseWrite() error {
	if s.on.Load() {
		s.below.closing.Store(true)
		if s.below.writers.Load() == 0 {
			_ = s.tls.CloseWrite()
		}
	}
	return s.TCPConn.CloseWrite()
}

// tlsSocket is the socket below crypto/tls.
type tlsSocket struct {
	*net.TCPConn
	raw     syscall.RawConn
	counted bool // counted as a handshake under way
	shake   limits.Handshake

	first []byte // read before the handshake
	// fd is the socket while transport.readNow runs, and reads do not wait; else -1.
	fd int

	// A writer counts itself first and then reads closing. CloseWrite does it in the other order. So either the
	// writer sees that it must not wait, or CloseWrite sees the writer.
	writers atomic.Int32
	closing atomic.Bool
}

// Pause ends the turn of the handshake, which is about to wait for something else than the client.
func (s *tlsSocket) Pause() { s.shake.Pause() }

// Read implements net.Conn.
func (s *tlsSocket) Read(b []byte) (int, error) {
	if len(s.first) > 0 {
		n := copy(b, s.first)
		s.first = s.first[n:]
		return n, nil
	}
	if s.fd < 0 {
		s.shake.Pause()
		n, err := s.TCPConn.Read(b)
		if n > 0 {
			s.shake.Received()
		}
		return n, err
	}
	return readSocket(s.fd, b)
}

// Write implements net.Conn. After CloseWrite has begun it writes only what the socket takes at once.
func (s *tlsSocket) Write(b []byte) (n int, err error) {
	s.writers.Add(1)
	defer s.writers.Add(-1)
	if !s.closing.Load() {
		s.shake.Pause()
		defer s.shake.Sent()
		return s.TCPConn.Write(b)
	}
	waitErr := s.raw.Write(func(fd uintptr) bool {
		n, err = socket.Write(fd, b)
		return true
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case err != nil:
		return 0, err
	case n < len(b):
		return n, io.ErrShortWrite
	}
	return n, nil
}

// language is what clients may speak on a port.
type language uint8

const (
	speaksPlain language = iota
	SpeaksTLS
	speaksEither
)

// String names the language for the log.
func (l language) String() string { return [...]string{"plain text", "TLS", "plain text and TLS"}[l] }
