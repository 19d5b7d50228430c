package server

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// vault is a server with TLS, its authority and the filesystem with its files.
type vault struct {
	*Server
	ca *pki.CA
	fs *vfs.Mem
}

// tlsConfig is a server with a TLS port besides the plain one.
func tlsConfig() *config.Config {
	cfg := memConfig()
	cfg.SecureClientPort, cfg.SecureClientPortAddress = 0, "127.0.0.1"
	cfg.TLS.KeyStore.Location, cfg.TLS.TrustStore.Location = "/tls/key.pem", "/tls/trust.pem"
	return cfg
}

// newVault has a certificate for 127.0.0.1, and no server yet.
func newVault(t testing.TB) *vault {
	t.Helper()
	v := &vault{ca: pki.NewCA("ca"), fs: vfs.NewMem()}
	v.put(t, "/tls/key.pem", v.ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}}).PEM())
	v.put(t, "/tls/trust.pem", v.ca.PEM())
	return v
}

// serveTLS runs a server with a certificate for 127.0.0.1.
func serveTLS(t testing.TB, cfg *config.Config, log *zap.Logger) *vault {
	t.Helper()
	v := newVault(t)
	v.Server = running(t, cfg, Options{FS: v.fs, Log: log})
	return v
}

func (v *vault) put(t testing.TB, name string, data []byte) {
	t.Helper()
	require.NoError(t, v.fs.MkdirAll(name[:strings.LastIndexByte(name, '/')]))
	require.NoError(t, vfs.WriteFile(v.fs, name, data))
}

// client is a client's configuration with the given certificate, or with none.
func (v *vault) client(l *pki.Leaf) *tls.Config {
	cfg := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	cfg.RootCAs.AddCert(v.ca.Cert)
	if l != nil {
		cert := tls.Certificate{PrivateKey: l.Key}
		for _, x := range l.Chain {
			cert.Certificate = append(cert.Certificate, x.Raw)
		}
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	return cfg
}

func (v *vault) dial(t testing.TB, l *pki.Leaf) *wire.Conn {
	t.Helper()
	return wire.Open(t, v.SecureAddr().String(), wire.Options{TimeoutMs: 60_000, TLS: v.client(l)})
}

func TestTLSServesAsPlainDoes(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		v := serveTLS(t, tlsConfig(), nil)
		cfg := v.client(v.ca.Issue(pki.Options{Name: "app"}))
		cfg.MinVersion, cfg.MaxVersion = version, version
		c := must.Do(wire.Dial(v.SecureAddr().String(), wire.Options{TimeoutMs: 60_000, TLS: cfg}))(t)
		defer c.Close()
		big := make([]byte, 900_000)
		for i := range big {
			big[i] = byte(i * i >> 8)
		}
		c.MustCreate(t, "/a", big, 0)
		got, _ := c.MustGetData(t, "/a", true)
		require.Equal(t, big, got)

		plain := dialWire(t, v.Server, wire.Options{})
		plain.MustSetData(t, "/a", nil, -1)
		calls := make([]wire.Request, 5000)
		for i := range calls {
			calls[i] = wire.GetData("/a", false)
		}
		for _, call := range c.SendAll(calls) {
			require.NoError(t, call.Wait())
		}
		require.NoError(t, c.Ping())
	}
}

func TestTLSIdentity(t *testing.T) {
	cfg := tlsConfig()
	cfg.X509SuperUser = "CN=root"
	cfg.TLS.ClientAuth = "want"
	v := serveTLS(t, cfg, nil)
	app, root := v.dial(t, v.ca.Issue(pki.Options{Name: "app, the first"})),
		v.dial(t, v.ca.Issue(pki.Options{Name: "root"}))
	none := v.dial(t, nil)
	require.Equal(t, "ip:127.0.0.1 x509:CN=app\\, the first", whoAmI(t, app))
	require.Equal(t, "ip:127.0.0.1 x509:CN=root super:", whoAmI(t, root))
	require.Equal(t, "ip:127.0.0.1", whoAmI(t, none))

	must.Do(wireCreate(app, "/mine", wire.ACL(31, "auth", "")))(t)
	must.Do(wireCreate(app, "/named", wire.ACL(31, "x509", "CN=app\\, the first")))(t)
	require.ErrorContains(t, must.Err(wireCreate(none, "/open", wire.ACL(31, "auth", ""))), "-114")
	for _, path := range []string{"/mine", "/named"} {
		require.ErrorContains(t, must.Err2(none.GetData(path, false)), "-102")
		app.MustGetData(t, path, false)
		root.MustSetData(t, path, nil, -1)
	}

	// The packet of scheme x509 proves the certificate once more, and nothing without one.
	require.EqualValues(t, 0, app.MustDo(t, wire.Auth("x509", nil)).Header.Err)
	require.Equal(t, "ip:127.0.0.1 x509:CN=app\\, the first", whoAmI(t, app))
	require.EqualValues(t, -115, none.MustDo(t, wire.Auth("x509", []byte("CN=app"))).Header.Err)
	require.NoError(t, none.WaitClosed())
}

func TestTLSRefuses(t *testing.T) {
	v := serveTLS(t, tlsConfig(), nil)
	stranger := pki.NewCA("ca")
	for name, l := range map[string]*pki.Leaf{
		"none": nil, "of a stranger": stranger.Issue(pki.Options{Name: "app"}),
		"expired":     v.ca.Issue(pki.Options{Name: "app", NotAfter: time.Now().Add(-time.Minute)}),
		"of a server": v.ca.Issue(pki.Options{Name: "app", Usage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}),
	} {
		require.Error(t, must.Err(wire.Dial(v.SecureAddr().String(), wire.Options{TLS: v.client(l)})), name)
	}
	eventually(t, func() bool { return v.Metrics.TlsFailed.Total() == 4 }, "four handshakes failed")
	require.Zero(t, v.Metrics.TlsUnfinished.Load())
	require.Zero(t, v.Tracker.Count(), "nobody got a session")

	// Plain text on the TLS port gets no answer but the end.
	nc := must.Dial(t, v.SecureAddr().String())
	_, _ = io.WriteString(nc, "ruok")
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	got, _ := io.ReadAll(nc)
	require.NotContains(t, string(got), "imok")
}

func TestRevokedClient(t *testing.T) {
	cfg := tlsConfig()
	cfg.TLS.CRL = true
	v := newVault(t)
	good, bad := v.ca.Issue(pki.Options{Name: "good"}), v.ca.Issue(pki.Options{Name: "bad"})
	v.put(t, "/tls/trust.pem", append(v.ca.PEM(), v.ca.Revoke(time.Now().Add(time.Hour), bad.Cert)...))
	v.Server = running(t, cfg, Options{FS: v.fs})
	v.dial(t, good)
	require.Error(t, must.Err(wire.Dial(v.SecureAddr().String(), wire.Options{TLS: v.client(bad)})))
}

func TestPortUnification(t *testing.T) {
	cfg := tlsConfig()
	cfg.SecureClientPort, cfg.ClientPortUnification = config.PortUnset, true
	v := serveTLS(t, cfg, nil)
	addr := v.Addr().String()
	require.Nil(t, v.SecureAddr())
	plain := dialWire(t, v.Server, wire.Options{})
	safe, err := wire.Dial(addr, wire.Options{TimeoutMs: 60_000, TLS: v.client(v.ca.Issue(pki.Options{Name: "app"}))})
	require.NoError(t, err)
	defer safe.Close()
	require.Equal(t, "ip:127.0.0.1", whoAmI(t, plain))
	require.Equal(t, "ip:127.0.0.1 x509:CN=app", whoAmI(t, safe))
	require.Equal(t, "imok", fourLetters(t, addr, "ruok", nil))
	require.Equal(t, "imok", fourLetters(t, addr, "ruok", v.client(v.ca.Issue(pki.Options{Name: "probe"}))))
	// The rest of a frame may be slow to come.
	nc := dialRaw(t, v.Server)
	for _, c := range []byte("srvr") {
		must.Do(nc.Write([]byte{c}))(t)
	}
	require.Contains(t, string(must.ReadAll(t, nc)), "Mode: standalone")
}

// fourLetters sends a word, over TLS if cfg is set, and returns the answer, which must end in an orderly way.
func fourLetters(t testing.TB, addr, word string, cfg *tls.Config) string {
	t.Helper()
	nc := must.Do(net.Dial("tcp", addr))(t)
	defer nc.Close()
	if cfg != nil {
		nc = tls.Client(nc, cfg)
	}
	_ = nc.SetDeadline(time.Now().Add(hangGuard))
	must.Do(io.WriteString(nc, word))(t)
	got := must.ReadAll(t, nc) // without the end of TLS before that of TCP this would be an error
	return string(got)
}

// Certificates are replaced, and the authority with them, while clients work: no session and no request is lost.
func TestRotationUnderLoad(t *testing.T) {
	v := serveTLS(t, tlsConfig(), nil)
	next := pki.NewCA("next")
	old := v.client(v.ca.Issue(pki.Options{Name: "old"}))
	var stop atomic.Bool
	var wg sync.WaitGroup
	var requests atomic.Int64
	for i := range 8 {
		c := must.Do(wire.Dial(v.SecureAddr().String(), wire.Options{TimeoutMs: 60_000, TLS: old}))(t)
		defer c.Close()
		path := fmt.Sprintf("/n%d", i)
		c.MustCreate(t, path, nil, 1)
		wg.Go(func() {
			for !stop.Load() {
				if _, err := c.SetData(path, []byte("x"), -1); err != nil {
					t.Error(err)
					return
				}
				requests.Add(1)
			}
		})
	}
	before := requests.Load()
	v.put(t, "/tls/key.pem", next.Issue(pki.Options{Name: "a server of next", Hosts: []string{"127.0.0.1"}}).PEM())
	v.put(t, "/tls/trust.pem", append(v.ca.PEM(), next.PEM()...))
	require.NoError(t, v.front.Keys().Reload())
	fresh := &vault{Server: v.Server, ca: next}
	c := fresh.dial(t, next.Issue(pki.Options{Name: "new"}))
	require.Equal(t, "ip:127.0.0.1 x509:CN=new", whoAmI(t, c))
	v.put(t, "/tls/trust.pem", next.PEM())
	require.NoError(t, v.front.Keys().Reload())
	old.RootCAs.AddCert(next.Cert)
	_, err := wire.Dial(v.SecureAddr().String(), wire.Options{TLS: old})
	require.Error(t, err, "the old authority is not trusted any more")
	eventually(t, func() bool { return requests.Load() > before+200 }, "clients go on")
	stop.Store(true)
	wg.Wait()
	require.Equal(t, 9, v.Tracker.Count())
}

// Clients that begin a handshake and do not continue are closed in time, and do not keep others out.
func TestSlowHandshakes(t *testing.T) {
	cfg := tlsConfig()
	cfg.SessionlessTimeout, cfg.HandshakeLimit = 300*time.Millisecond, 4
	v := serveTLS(t, cfg, nil)
	var slow []net.Conn
	for range 40 {
		nc := must.Do(net.Dial("tcp", v.SecureAddr().String()))(t)
		defer nc.Close()
		_, _ = nc.Write([]byte{0x16, 3, 1, 2, 0, 1})
		slow = append(slow, nc)
	}
	client := v.client(v.ca.Issue(pki.Options{Name: "app"}))
	eventually(t, func() bool { // on a busy machine the good one may be too slow as well
		good, err := wire.Dial(v.SecureAddr().String(), wire.Options{TimeoutMs: 60_000, TLS: client})
		if err == nil {
			t.Cleanup(good.Close)
		}
		return err == nil
	}, "a good one is served")
	for _, nc := range slow {
		_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
		require.NotErrorIs(t, must.Err(io.ReadAll(nc)), os.ErrDeadlineExceeded)
	}
	eventually(t, func() bool { return v.front.Conns.Len() == 1 }, "only the good one is left")
	require.Zero(t, v.Metrics.TlsExceeded.Total(), "a connection without a whole ClientHello takes no place")
}

// Clients that stop after their first whole message count as handshakes. A client above the limit is closed at
// once.
func TestHandshakeLimit(t *testing.T) {
	cfg := tlsConfig()
	cfg.HandshakeLimit = 3
	v := serveTLS(t, cfg, nil)
	client := v.client(v.ca.Issue(pki.Options{Name: "app"}))
	block := make(chan struct{})
	stalled := client.Clone()
	stalled.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		<-block
		return nil, io.EOF
	}
	var wg sync.WaitGroup
	for range 3 {
		nc := must.Dial(t, v.SecureAddr().String())
		wg.Go(func() {
			defer nc.Close()
			_ = tls.Client(nc, stalled).Handshake()
		})
	}
	eventually(t, func() bool { return v.Metrics.TlsUnfinished.Load() == 3 }, "three have begun")
	require.Error(t, must.Err(wire.Dial(v.SecureAddr().String(), wire.Options{TLS: client})))
	eventually(t, func() bool { return v.Metrics.TlsExceeded.Total() == 1 }, "the fourth is counted")
	close(block)
	wg.Wait()
	eventually(t, func() bool { return v.Metrics.TlsUnfinished.Load() == 0 }, "their places are free")
	v.dial(t, v.ca.Issue(pki.Options{Name: "app"}))
}

// A TLS client that does not read must not block the applier when its connection is ended.
func TestDeafTLSClient(t *testing.T) {
	v := serveTLS(t, tlsConfig(), nil)
	client := v.client(v.ca.Issue(pki.Options{Name: "app"}))
	writer := dialWire(t, v.Server, wire.Options{})
	writer.MustCreate(t, "/big", make([]byte, 500_000), 0)
	nc := must.Do(tls.Dial("tcp", v.SecureAddr().String(), client))(t)
	defer nc.Close()
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	var requests []byte
	for i := range 50 {
		requests = frame(requests, int32(i+1), wire.GetData("/big", true))
	}
	must.Do(nc.Write(requests))(t)
	for range 20 {
		begin := time.Now()
		writer.MustSetData(t, "/big", make([]byte, 500_000), -1)
		require.Less(t, time.Since(begin), hangGuard, "or the client's timeout, a minute")
	}
	begin := time.Now()
	v.front.Conns.Each(func(c *serve.Conn) {
		if c.SecurePort {
			c.Shut()
			c.Abort()
		}
	})
	require.Less(t, time.Since(begin), hangGuard)
	writer.MustSetData(t, "/big", nil, -1)
}

// An idle connection costs its goroutine and the memory of crypto/tls, and no buffer of the server.
func TestIdleTLSConnectionsAreSmall(t *testing.T) {
	cfg := tlsConfig()
	v := serveTLS(t, cfg, nil)
	client := v.client(v.ca.Issue(pki.Options{Name: "app"}))
	const n = 200
	use := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := use()
	var conns []*tls.Conn
	for range n {
		nc := must.Do(tls.Dial("tcp", v.SecureAddr().String(), client))(t)
		defer nc.Close()
		hello(t, nc, wire.Options{TimeoutMs: 60_000})
		must.Do(nc.Write(frame(nil, -2, wire.Ping())))(t)
		must.Do(wire.ReadFrame(bufio.NewReader(nc)))(t)
		conns = append(conns, nc)
	}
	both := int(use()-before) / n
	t.Logf("%d bytes a connection, of both ends", both)
	require.Less(t, both, 80_000)
	runtime.KeepAlive(conns)
}

// whoAmI returns the identities of a connection, as scheme:user.
func whoAmI(t testing.TB, c *wire.Conn) string {
	t.Helper()
	rep := c.MustDo(t, wire.WhoAmI())
	var all []string
	for _, id := range rep.Value.(*proto.WhoAmIResponse).ClientInfo {
		all = append(all, id.AuthScheme.String()+":"+id.User.String())
	}
	return strings.Join(all, " ")
}

// wireCreate creates an empty znode with an ACL.
func wireCreate(c *wire.Conn, path string, acl []proto.ACL) (string, error) {
	rep, err := c.Do(wire.Create(path, nil, acl, 0))
	if err == nil && rep.Header.Err != proto.OK {
		err = rep.Header.Err
	}
	return path, err
}
