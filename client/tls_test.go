package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

// certificate makes a certificate for a host, and a pool that trusts it.
func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	key := require.Do(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	conf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true}
	der := require.Do(x509.CreateCertificate(rand.Reader, conf, conf, key.Public(), key))(t)
	cert := require.Do(x509.ParseCertificate(der))(t)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t, "zk.test")
	f := newFake(t)
	inner := require.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	secure := tls.NewListener(inner, &tls.Config{Certificates: []tls.Certificate{cert}})
	defer secure.Close()
	f.accept(secure)
	_, port, _ := net.SplitHostPort(inner.Addr().String())
	lookup := WithResolver(func(_ context.Context, host string) ([]string, error) {
		require.Contains(t, []string{"zk.test", "other.test"}, host)
		return []string{"127.0.0.1"}, nil
	})
	c := dial(t, "zk.test:"+port, lookup, WithTLS(&tls.Config{RootCAs: pool}))
	require.Do2(c.Get(within(t, time.Minute), "/"))(t)

	// The certificate must be that of the name in the connect string.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, "other.test:"+port, lookup, WithTLS(&tls.Config{RootCAs: pool}))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

type traceKey struct{}

// Hooks see every operation, its context, and nothing is logged that is secret.
func TestHooksAndLog(t *testing.T) {
	f := newFake(t)
	var mu sync.Mutex
	var ops []OpResult
	var traced int
	var seen []State
	var events []Event
	var log strings.Builder
	hooks := Hooks{
		Start: func(ctx context.Context, op, path string) context.Context {
			return context.WithValue(ctx, traceKey{}, op)
		},
		End: func(ctx context.Context, r OpResult) {
			mu.Lock()
			defer mu.Unlock()
			ops = append(ops, r)
			if ctx.Value(traceKey{}) == r.Op {
				traced++
			}
		},
		State: func(st StateChange) { mu.Lock(); defer mu.Unlock(); seen = append(seen, st.State) },
		Event: func(e Event) { mu.Lock(); defer mu.Unlock(); events = append(events, e) },
	}
	c := dial(t, f.addr(), WithHooks(hooks),
		WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		WithAuth("digest", []byte("bob:topsecret")))
	ctx := within(t, time.Minute)
	require.Do(c.Create(ctx, "/a", []byte("hidden data"), Persistent))(t)
	armed(c.GetW(ctx, "/a"))(t)
	require.ErrorIs(t, require.Err(c.Async().Set(ctx, "/a", nil, 9).Wait(ctx)), ErrBadVersion)
	require.Do(c.Set(ctx, "/a", nil, 0))(t)
	require.ErrorIs(t, require.Err(c.Set(ctx, "/a", nil, 9)), ErrBadVersion)
	require.NoError(t, c.Close())
	mu.Lock()
	defer mu.Unlock()
	var names []string
	for _, r := range ops {
		names = append(names, r.Op)
		require.Equal(t, "/a", r.Path)
		require.Greater(t, r.Took, 0)
		require.Greater(t, r.Zxid, 0)
	}
	require.Equal(t, []string{"create2", "getData", "setData", "setData", "setData"}, names)
	require.Equal(t, len(ops), traced)
	require.ErrorIs(t, ops[2].Err, ErrBadVersion)
	require.Equal(t, []State{Connected, Closed}, seen)
	require.Len(t, events, 1)
	require.Contains(t, log.String(), "session state changed")
	require.NotContains(t, log.String(), "secret")
	require.NotContains(t, log.String(), "hidden")
}

// TLS says goodbye when it closes a connection. A server that reads no more does not hold up the client with that.
func TestServerThatReadsNoMoreDoesNotHoldUpTheClient(t *testing.T) {
	cert, pool := certificate(t, "zk.test")
	now := time.Now()
	real := func() time.Time { return now } // that of the bubble is another
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		secure, server := tls.Client(near, &tls.Config{RootCAs: pool, ServerName: "zk.test", Time: real}),
			tls.Server(far, &tls.Config{Certificates: []tls.Certificate{cert}, Time: real})
		go func() { _, _ = server.Read(make([]byte, 1)) }() // ends with the handshake's data
		require.NoError(t, secure.Handshake())
		require.Do(secure.Write([]byte{1}))(t)
		cn := newConn(secure, frames{}, "a:1", time.Now(), time.Second, &config{})
		began := time.Now()
		go cn.fail(errMoved)
		synctest.Wait()
		require.True(t, cn.mu.TryLock(), "calls do not wait for the goodbye")
		require.ErrorIs(t, cn.err, errMoved)
		cn.mu.Unlock()
		for near.SetReadDeadline(time.Time{}) == nil { // it is open
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(began), goodbyeMax+time.Millisecond)
	})
}
