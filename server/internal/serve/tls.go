package serve

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/security"
)

// TLS on the client ports. A connection that may be TLS begins in its reader with afterHandshake, within the time
// limit of a connection without a session. After that it works like any other, but its bytes pass through
// crypto/tls:
//
//   - Reading waits for the socket and not in crypto/tls, so that an idle connection has no buffer of its own: see
//     transport.readNow.
//   - Writing is left to writeRest, which may wait.
//   - Ending never waits. The goroutine that ends a connection may hold the lock of the connection, and the applier
//     may wait for that lock. A client that does not read must not block the applier.

var errPlainText = errors.New("plain text on a port for TLS only")

// guard makes c a connection that may be TLS. It reports false if c is not a socket. It is called before serve.
func (c *Conn) guard(speaks language) bool {
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok || c.raw == nil {
		return false
	}
	s := &secureConn{TCPConn: tcp, speaks: speaks, below: tlsSocket{TCPConn: tcp, raw: c.raw, fd: -1,
		shake: c.srv.Handshakes.Of(c.Remote.Addr())}}
	s.tls = tls.Server(&s.below, c.srv.clientSecurity.tls)
	c.nc, c.secure = s, s
	return true
}

// afterHandshake returns a reader that calls serve after the handshake.
func (g greeting) afterHandshake(serve func()) func() {
	return func() {
		if err := g.negotiate(); err != nil {
			if !errors.Is(err, io.EOF) {
				g.srv.Metrics.TlsFailed.Inc()
				level := zap.WarnLevel
				if wentAway(err) {
					level = zap.DebugLevel
				}
				g.srv.Log.Log(level, "TLS handshake failed", zap.Stringer("client_addr", g.c.Remote), zap.Error(err))
			}
			g.cleanup()
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
func (g greeting) negotiate() error {
	s, cfg := g.c.secure, g.srv.Config
	_ = s.SetDeadline(g.srv.Clock.In(cfg.SessionlessTimeout))
	_ = s.SetReadDeadline(g.srv.Clock.In(min(cfg.SessionlessTimeout, cfg.TLS.HandshakeDetectionTimeout)))
	var first [1]byte
	if _, err := io.ReadFull(s.TCPConn, first[:]); err != nil {
		return err
	}
	switch {
	// No frame that a client may begin with has this first byte: its length would be above 350 MiB.
	case first[0] == security.TLSRecord:
		s.below.first = first[:]
	case s.speaks == speaksEither:
		g.goPlain(first[0])
		return nil
	default:
		return errPlainText
	}
	_ = s.SetReadDeadline(g.srv.Clock.In(cfg.SessionlessTimeout))
	err := s.tls.Handshake()
	s.below.shake.End()
	if s.below.counted {
		g.srv.Metrics.TlsUnfinished.Add(-1)
	}
	if err != nil {
		return err
	}
	if err := g.certify(s.tls.ConnectionState()); err != nil {
		return err
	}
	s.on.Store(true)
	_ = s.SetDeadline(time.Time{})
	return nil
}

// goPlain goes on without TLS. No other goroutine has added output yet, so none reads Conn.secure meanwhile.
func (g greeting) goPlain(first byte) {
	g.srv.Metrics.Admitted(g.c.Remote.Addr())
	_ = g.c.secure.SetDeadline(time.Time{})
	g.c.secure = nil
	g.in.room()[0] = first
	g.in.w++
}

// certify adds the identities that the client's certificate proves. The handshake has checked that the certificate
// is trusted.
func (g greeting) certify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	ids, err := g.srv.CertIdentities(state.PeerCertificates[0])
	if err != nil {
		g.srv.Metrics.AuthFailed.Inc()
		g.srv.Log.Warn("certificate refused", zap.Stringer("client_addr", g.c.Remote), zap.Error(err))
		return err
	}
	g.c.certified = ids
	g.c.add(ids)
	return nil
}
