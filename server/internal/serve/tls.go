package serve

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/socket"
)

// TLS on the client ports. A connection that may be TLS begins in its reader with afterHandshake, within the time
// limit of a connection without a session. After that it works like any other, but its bytes pass through
// crypto/tls:
//
//   - Reading waits for the socket and not in crypto/tls, so that an idle connection has no buffer of its own: see
//     tryReadTLS.
//   - Writing is left to drain, which may wait.
//   - Ending never waits. The goroutine that ends a connection may hold the lock of the connection, and the applier
//     may wait for that lock. A client that does not read must not block the applier.

// secureConn is a client's socket on a port that takes TLS.
type secureConn struct {
	*net.TCPConn
	speaks language
	below  tlsSocket
	tls    *tls.Conn
	on     atomic.Bool // the handshake is done: TLS is spoken
}

var (
	errHandshakeLimit = errors.New(
		"too many TLS handshakes under way: netty.server.outstandingHandshake.limit is reached")
	ErrPlainText = errors.New("plain text on a port for TLS only")
	ErrNotReady  = &notReadyError{}
)

// notReadyError tells crypto/tls that the socket has nothing at the moment. crypto/tls does not give up on an error
// of this form.
type notReadyError struct{}

func (*notReadyError) Error() string   { return "socket is not ready" }
func (*notReadyError) Timeout() bool   { return true }
func (*notReadyError) Temporary() bool { return true }

// guard makes c a connection that may be TLS. It reports false if c is not a socket. It is called before serve.
func (c *Conn) guard(speaks language) bool {
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok || c.raw == nil {
		return false
	}
	s := &secureConn{TCPConn: tcp, speaks: speaks, below: tlsSocket{TCPConn: tcp, raw: c.raw, fd: -1,
		shake: c.srv.Handshakes.Of(c.Remote.Addr())}}
	s.tls = tls.Server(&s.below, c.srv.Security.tls)
	c.nc, c.secure, c.readFunc = s, s, c.tryReadTLS
	return true
}

// afterHandshake returns a reader that calls serve after the handshake.
func (c *Conn) afterHandshake(serve func()) func() {
	return func() {
		if err := c.negotiate(); err != nil {
			if !errors.Is(err, io.EOF) {
				c.srv.Metrics.TlsFailed.Inc()
				level := zap.WarnLevel
				if wentAway(err) {
					level = zap.DebugLevel
				}
				c.srv.Log.Log(level, "TLS handshake failed", zap.Stringer("client_addr", c.Remote), zap.Error(err))
			}
			c.cleanup()
			return
		}
		serve()
	}
}

// wentAway reports whether a handshake failed because the client closed the connection or sent nothing, as port
// scanners do. An alert from the client, for example because it does not trust this server, is a different failure.
func wentAway(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) && (op.Op == "read" || op.Op == "write")
}

// negotiate finds out whether the client speaks TLS, does the handshake, and checks the client's certificate.
func (c *Conn) negotiate() error {
	s, cfg := c.secure, c.srv.Config
	_ = s.SetDeadline(c.srv.Clock.In(cfg.SessionlessTimeout))
	_ = s.SetReadDeadline(c.srv.Clock.In(min(cfg.SessionlessTimeout, cfg.TLS.HandshakeDetectionTimeout)))
	var first [1]byte
	if _, err := io.ReadFull(s.TCPConn, first[:]); err != nil {
		return err
	}
	switch {
	// No frame that a client may begin with has this first byte: its length would be above 350 MiB.
	case first[0] == security.TLSRecord:
		s.below.first = first[:]
	case s.speaks == speaksEither:
		c.goPlain(first[0])
		return nil
	default:
		return ErrPlainText
	}
	_ = s.SetReadDeadline(c.srv.Clock.In(cfg.SessionlessTimeout))
	err := s.tls.Handshake()
	s.below.shake.Pause()
	if s.below.counted {
		c.srv.Metrics.TlsUnfinished.Add(-1)
	}
	if err != nil {
		return err
	}
	if err := c.certify(s.tls.ConnectionState()); err != nil {
		return err
	}
	s.on.Store(true)
	_ = s.SetDeadline(time.Time{})
	return nil
}

// goPlain goes on without TLS. No other goroutine has added output yet, so none reads Conn.secure meanwhile.
func (c *Conn) goPlain(first byte) {
	c.srv.Metrics.Admitted(c.Remote.Addr())
	_ = c.secure.SetDeadline(time.Time{})
	c.secure, c.readFunc = nil, c.tryRead
	c.In.Acquire()
	c.In.Buf[c.In.W] = first
	c.In.W++
}

// certify adds the identities that the client's certificate proves. The handshake has checked that the certificate
// is trusted.
func (c *Conn) certify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	ids, err := c.srv.Security.Names.Identities(state.PeerCertificates[0])
	if err != nil {
		c.srv.Metrics.AuthFailed.Inc()
		c.srv.Log.Warn("certificate refused", zap.Stringer("client_addr", c.Remote), zap.Error(err))
		return err
	}
	c.identity.certify(ids)
	return nil
}

// countHandshakes returns cfg with a count of the handshakes under way. A handshake counts from the client's first
// message on: a connection that sends nothing costs no work, and takes no place from others.
func (s *Front) countHandshakes(cfg *tls.Config) *tls.Config {
	choose := cfg.GetConfigForClient
	counting := cfg.Clone()
	counting.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		below, ok := hello.Conn.(*tlsSocket)
		if ok && !below.counted {
			below.counted = true
			if n, limit := s.Metrics.TlsUnfinished.Add(1), int64(s.Config.HandshakeLimit); limit >= 0 && n > limit {
				s.Metrics.TlsExceeded.Inc()
				return nil, errHandshakeLimit
			}
			if below.shake.Begin() && newPeek().gone(below.TCPConn) {
				return nil, io.ErrUnexpectedEOF // it costs no more work
			}
		}
		return choose(hello)
	}
	return counting
}

// ExportExpiry exports the expiry time of the certificate as a metric.
func (s *Front) ExportExpiry(keys *keystore.Keys) {
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_tls_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that clients are shown, or one above it, expires; renew it before.",
	}, func() float64 { return float64(keys.Expires().Unix()) }))
}

// tryReadTLS is Conn.readFunc of a connection with TLS: it reads once, and reports false if the socket has no whole
// record.
func (c *Conn) tryReadTLS(fd uintptr) bool {
	in := &c.In
	in.Acquire()
	below := &c.secure.below
	below.fd = int(fd)
	n, err := c.secure.tls.Read(in.Buf[in.W:])
	below.fd = -1
	switch {
	case n > 0: // the next read returns the error again
		in.W += n
		in.got += int64(n)
	case errors.Is(err, ErrNotReady):
		in.Release()
		return false
	case err == nil:
		return false
	default:
		in.err = err
	}
	return true
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
	// fd is the socket while tryReadTLS runs, and reads do not wait; else -1.
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
	for {
		n, err := socket.Read(uintptr(s.fd), b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, ErrNotReady
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
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
