package serve

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// newTLSFront returns a front with a certificate.
func newTLSFront() *Front {
	s := newFront()
	leaf := pki.NewCA("ca").Issue(pki.Options{Name: "server"})
	cert := tls.Certificate{PrivateKey: leaf.Key, Certificate: [][]byte{leaf.Chain[0].Raw}}
	cfg := &tls.Config{Certificates: []tls.Certificate{cert}}
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return cfg, nil }
	s.clientSecurity.tls = s.countHandshakes(cfg)
	return s
}

// trusting is the TLS of a client that does not ask who the server is.
func trusting(nc net.Conn) *tls.Conn { return tls.Client(nc, &tls.Config{InsecureSkipVerify: true}) }

// A handshake works in a turn of busy connections, so that one processor is left to clients that ask little, however
// many clients begin handshakes.
func TestHandshakesTakeTurns(t *testing.T) {
	s := newTLSFront()
	for range cap(s.turns) {
		s.turns.Take()
	}
	client, nc := wire.Pair(t)
	s.admit(nc, SpeaksTLS)
	ended := make(chan error, 1)
	go func() { ended <- trusting(client).Handshake() }()
	require.Eventually(t, func() bool { return s.Metrics.TlsUnfinished.Load() == 1 }, time.Minute, time.Millisecond,
		"it has begun")
	require.Never(t, func() bool { return len(ended) > 0 }, 50*time.Millisecond, time.Millisecond,
		"it waits for a turn")
	require.EqualValues(t, 1, s.Metrics.TlsUnfinished.Load())
	for range cap(s.turns) {
		s.turns.Pass()
	}
	require.NoError(t, <-ended)
	require.Eventually(t, func() bool { return len(s.turns) == 0 }, time.Minute, time.Millisecond,
		"every turn is given back")
}

// A connection that waits for the rest of a large frame, or ends in the middle of it, has no turn.
func TestNobodyWaitsForAClientInATurn(t *testing.T) {
	for name, speaks := range map[string]language{"plain": speaksPlain, "TLS": SpeaksTLS} {
		s := newTLSFront()
		client, nc := wire.Pair(t)
		r := newReader(newConn(s, nc))
		if speaks == SpeaksTLS {
			require.True(t, r.c.guard(speaks))
			go func() { _ = trusting(client).Handshake() }()
			require.NoError(t, greeting{&r.feed}.negotiate())
		}
		r.pace.busy = true
		r.takeTurn()
		require.Len(t, s.turns, 1)
		for more := true; more; {
			require.NoError(t, r.c.raw.Control(func(fd uintptr) { more = r.tryOnce(fd) }))
		}
		require.Empty(t, s.turns, "%s: the socket has nothing", name)
		r.pace.busy = true
		r.takeTurn()
		r.cleanup()
		require.Empty(t, s.turns, "%s: the connection has ended", name)
	}
}
