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

	"github.com/seed94657493/warren/test/pki"
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
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
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
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	go func() { _ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	nc, err := ln.Accept()
	require.NoError(t, err)
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
