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
	"github.com/seed94657493/warren/server/internal/security"
)

// TLS on the client ports. A connection that may be TLS begins in its reader with afterHandshake, within the time that a
// connection without a session has. From then on it is as any other, but that its bytes go through crypto/tls:
//
//   - Reading waits for the socket and not in crypto/tls, so that an idle connection holds no buffer of ours: see tryReadTLS.
//   - Writing is left to drain, which may wait.
//   - Ending never waits. Whoever ends a connection may hold its lock, and whoever waits for that lock may be the applier;
//     a client that does not read must not get that far.

// secureConn is a client's socket on a port that takes TLS.
type secureConn struct {
	*net.TCPConn
	speaks language
	below  tlsSocket
	tls    *tls.Conn
	on     atomic.Bool // TLS is spoken: the handshake is done
}

var (
	errHandshakeLimit = errors.New("too many TLS handshakes under way: netty.server.outstandingHandshake.limit is reached")
	ErrPlainText      = errors.New("plain text on a port for TLS only")
	ErrNotReady       = &notReadyError{}
)

// notReadyError tells crypto/tls that the socket has nothing at the moment, in the form in which it does not give up.
type notReadyError struct{}

func (*notReadyError) Error() string   { return "socket is not ready" }
func (*notReadyError) Timeout() bool   { return true }
func (*notReadyError) Temporary() bool { return true }

// guard makes c a connection that may be TLS, which needs a socket. It is called before serve.
func (c *Conn) guard(speaks language) bool {
	tcp, ok := c.NC.(*net.TCPConn)
	if !ok || c.raw == nil {
		return false
	}
	s := &secureConn{TCPConn: tcp, speaks: speaks, below: tlsSocket{TCPConn: tcp, raw: c.raw, fd: -1}}
	s.tls = tls.Server(&s.below, c.srv.Security.tls)
	c.NC, c.Secure, c.readFunc = s, s, c.tryReadTLS
	return true
}

// afterHandshake is a reader that serves when the connection is safe.
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

// wentAway reports whether a handshake failed because the client left or fell silent, as who looks whether a port is open does. An
// alert of the client, which does not trust this server for example, is something else.
func wentAway(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) && (op.Op == "read" || op.Op == "write")
}

// negotiate finds out whether the client speaks TLS and lets it prove who it is.
func (c *Conn) negotiate() error {
	s, cfg := c.Secure, c.srv.Config
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

// goPlain goes on without TLS. Nobody else has added output yet, so nobody looks at c.secure meanwhile.
func (c *Conn) goPlain(first byte) {
	c.srv.Metrics.Admitted(c.Remote.Addr())
	_ = c.Secure.SetDeadline(time.Time{})
	c.Secure, c.readFunc = nil, c.tryRead
	c.In.Acquire()
	c.In.Buf[c.In.W] = first
	c.In.W++
}

// certify adds what the client's certificate proves. That it is to be trusted has been checked in the handshake.
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
	c.certified = ids
	c.addIdentities(ids)
	return nil
}

// countHandshakes returns cfg with a count of the handshakes under way, from the client's first message on: a connection
// that sends nothing costs no work, and takes no place from those that do.
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
		}
		return choose(hello)
	}
	return counting
}

// ExportExpiry makes the end of the certificate's life a metric.
func (s *Front) ExportExpiry(keys *keystore.Keys) {
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_tls_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that clients are shown, or one above it, expires; renew it before.",
	}, func() float64 { return float64(keys.Expires().Unix()) }))
}

// tryReadTLS is c.readFunc of a connection with TLS: it reads once and reports false if the socket has no whole record.
func (c *Conn) tryReadTLS(fd uintptr) bool {
	in := &c.In
	in.Acquire()
	below := &c.Secure.below
	below.fd = int(fd)
	n, err := c.Secure.tls.Read(in.Buf[in.W:])
	below.fd = -1
	switch {
	case n > 0: // an error comes again
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

// portion is as much of b as is written under one deadline: for TLS one record, since a write that has begun cannot be
// taken up again after a deadline.
func (c *Conn) portion(b []byte) []byte {
	if c.Secure == nil {
		return b
	}
	return b[:min(len(b), 16<<10)]
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

// CloseWrite tells the client that nothing follows. If somebody is writing at the moment, or the socket is full, it hears it
// from TCP alone: this never waits.
func (s *secureConn) CloseWrite() error {
	if s.on.Load() {
		s.below.closing.Store(true)
		if s.below.writers.Load() == 0 {
			_ = s.tls.CloseWrite()
		}
	}
	return s.TCPConn.CloseWrite()
}

// Close closes the socket at once, without a word.
func (s *secureConn) Close() error { return s.TCPConn.Close() }

// tlsSocket is what crypto/tls reads and writes.
type tlsSocket struct {
	*net.TCPConn
	raw     syscall.RawConn
	counted bool // among the handshakes under way

	first []byte // read before the handshake
	fd    int    // while tryReadTLS runs, the socket, of which reads do not wait; else -1

	// A writer counts itself first and then looks at closing, CloseWrite does the reverse. So either the writer sees
	// that it must not wait, or CloseWrite sees the writer.
	writers atomic.Int32
	closing atomic.Bool
}

// Read implements net.Conn.
func (s *tlsSocket) Read(b []byte) (int, error) {
	if len(s.first) > 0 {
		n := copy(b, s.first)
		s.first = s.first[n:]
		return n, nil
	}
	if s.fd < 0 {
		return s.TCPConn.Read(b)
	}
	for {
		n, err := syscall.Read(s.fd, b)
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

// Write implements net.Conn. After CloseWrite has begun it takes what the socket takes at once.
func (s *tlsSocket) Write(b []byte) (n int, err error) {
	s.writers.Add(1)
	defer s.writers.Add(-1)
	if !s.closing.Load() {
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
