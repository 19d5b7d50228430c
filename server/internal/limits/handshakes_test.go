package limits

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// An address with one handshake does not wait for all those of another one.
func TestHandshakesWaitAddressByAddress(t *testing.T) {
	h := NewHandshakes(make(Turns, 1))
	many, one := Network(netip.MustParseAddr("10.0.0.1")), Network(netip.MustParseAddr("10.0.0.2"))
	require.False(t, h.take(many))
	order := make(chan string, 4)
	wait := func(from netip.Prefix, name string) {
		before := waiting(h)
		go func() {
			h.take(from)
			order <- name
		}()
		require.Eventually(t, func() bool { return waiting(h) == before+1 }, time.Minute, time.Millisecond)
	}
	wait(many, "many 1")
	wait(many, "many 2")
	wait(many, "many 3")
	wait(one, "one 1")
	for _, want := range []string{"many 1", "one 1", "many 2", "many 3"} {
		h.pass()
		require.Equal(t, want, <-order)
	}
	h.pass()
	requireIdle(t, h)
}

func waiting(h *Handshakes) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, all := range h.mu.waiting {
		n += len(all)
	}
	return n
}

// requireIdle wants every turn to have been given back.
func requireIdle(t *testing.T, h *Handshakes) {
	t.Helper()
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.mu.free == cap(h.turns) && len(h.turns) == 0 && len(h.mu.next) == 0 && len(h.mu.waiting) == 0
	}, time.Minute, time.Millisecond)
}

// However many clients begin handshakes, and wherever they stop, no more work at once than there are turns, and every
// turn is given back.
func TestHandshakesWorkInTurns(t *testing.T) {
	ca := pki.NewCA("turns")
	own, theirs := ca.Issue(pki.Options{Hosts: []string{"localhost"}}), ca.Issue(pki.Options{Name: "client"})
	certificate := func(l *pki.Leaf) tls.Certificate {
		return tls.Certificate{Certificate: [][]byte{l.Cert.Raw}, PrivateKey: l.Key}
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		h := NewHandshakes(make(Turns, 2))
		var working, most, done atomic.Int64
		cfg := &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}
		cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			most.Store(max(most.Load(), working.Add(1)))
			time.Sleep(time.Millisecond)
			working.Add(-1)
			answer := cfg.Clone()
			answer.GetConfigForClient, answer.Certificates = nil, []tls.Certificate{certificate(own)}
			return answer, nil
		}
		inner := must.Listen(t)
		ln := h.Listen(inner, cfg)
		var all sync.WaitGroup
		all.Go(func() {
			for {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				all.Go(func() {
					defer nc.Close()
					_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
					if nc.(*tls.Conn).Handshake() != nil {
						return
					}
					var b [4]byte
					if n, _ := nc.Read(b[:]); n == 4 {
						_, _ = nc.Write(b[:])
						done.Add(1)
					}
				})
			}
		})
		var clients sync.WaitGroup
		for i := range 40 {
			clients.Go(func() {
				nc, err := net.Dial("tcp", inner.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				good := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate(theirs)}}
				switch i % 4 {
				case 0: // it stops within the first message
					_, _ = nc.Write([]byte{22, 3, 1, 2, 0, 1})
				case 1: // it stops before its answer
					good.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
						nc.Close()
						return nil, net.ErrClosed
					}
					_ = tls.Client(nc, good).Handshake()
				case 2: // it does not prove anything
					good.Certificates = nil
					_ = tls.Client(nc, good).Handshake()
				default:
					c := tls.Client(nc, good)
					if _, err := c.Write([]byte("ping")); err != nil {
						t.Error(err)
					}
					if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		clients.Wait()
		require.NoError(t, ln.Close())
		all.Wait()
		require.LessOrEqual(t, most.Load(), int64(2))
		require.EqualValues(t, 10, done.Load())
		requireIdle(t, h)
	}
}

// A connection that was closed while its handshake waited for a turn costs no signature.
func TestClosedConnectionsCostNoSignature(t *testing.T) {
	h := NewHandshakes(make(Turns, 1))
	h.turns.Take()
	leaf := pki.NewCA("turns").Issue(pki.Options{Hosts: []string{"localhost"}})
	cfg := h.Config(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		t.Error("it is answered")
		return nil, nil
	}, Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}}})
	ln := must.Listen(t)
	client := must.Dial(t, ln.Addr().String())
	go func() { _ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	nc := must.Do(ln.Accept())(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := h.Shake(ctx, nc, cfg)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.mu.free == 0
	}, time.Minute, time.Millisecond)
	require.NoError(t, nc.Close())
	h.turns.Pass()
	require.ErrorIs(t, <-ended, net.ErrClosed)
	requireIdle(t, h)
}

// The second message of a client whose first one had no key that the server takes is what the server signs for. It has
// a turn also if it arrives in pieces.
func TestEveryPieceOfTheClientsAnswerHasItsTurn(t *testing.T) {
	leaf := pki.NewCA("turns").Issue(pki.Options{Hosts: []string{"localhost"}})
	cfg := &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384},
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}}}
	h := NewHandshakes(make(Turns, 1))
	client, server := wire.Pair(t)
	at := &readConn{Conn: server}
	pieces := &piecesConn{Conn: client, goOn: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shaken, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := h.Shake(ctx, at, h.Config(cfg))
		shaken <- err
	}()
	go func() {
		ended <- tls.Client(pieces, &tls.Config{InsecureSkipVerify: true,
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}}).Handshake()
	}()
	require.Eventually(t, func() bool { return pieces.first.Load() > 0 && at.before.Load() == pieces.first.Load() },
		time.Minute, time.Millisecond, "the server waits for the second piece")
	h.turns.Take()
	close(pieces.goOn)
	require.Never(t, func() bool { return len(ended)+len(shaken) > 0 }, 50*time.Millisecond, time.Millisecond)
	h.turns.Pass()
	require.NoError(t, <-ended)
	require.NoError(t, <-shaken)
	requireIdle(t, h)
}

// readConn counts what was read.
type readConn struct {
	net.Conn
	before atomic.Int64 // bytes that were read before the present read
	read   atomic.Int64
}

func (c *readConn) Read(b []byte) (int, error) {
	c.before.Store(c.read.Load())
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// piecesConn sends the second message of a handshake in two pieces, the second one when it is told to go on.
type piecesConn struct {
	net.Conn
	hellos int
	sent   int64
	first  atomic.Int64 // bytes up to the end of the first piece, when that is sent
	goOn   chan struct{}
}

func (c *piecesConn) Write(b []byte) (int, error) {
	c.sent += int64(len(b))
	if b[0] != 22 { // no handshake that can be read
		return c.Conn.Write(b)
	}
	if c.hellos++; c.hellos != 2 {
		return c.Conn.Write(b)
	}
	half := len(b) / 2
	if _, err := c.Conn.Write(b[:half]); err != nil {
		return 0, err
	}
	c.first.Store(c.sent - int64(len(b)-half))
	<-c.goOn
	n, err := c.Conn.Write(b[half:])
	return half + n, err
}
