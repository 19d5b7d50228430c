package serve

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/seed94657493/warren/server/internal/limits"
)

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

// Close closes the socket at once, without an alert of TLS.
func (s *secureConn) Close() error { return s.TCPConn.Close() }

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
		n, err = syscall.Write(int(fd), b)
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
