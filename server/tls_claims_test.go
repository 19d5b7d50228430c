package server

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// A client that offers only broken TLS is refused on every TLS port: old versions, and suites without forward
// secrecy or with broken ciphers. A client that offers old and new versions gets the newest.
func TestOldTLSIsRefused(t *testing.T) {
	cfg := tlsConfig()
	cfg.ClientPortUnification = true
	core, logs := observer.New(zapcore.WarnLevel)
	v := serveTLS(t, cfg, zap.New(core))
	good := v.client(v.ca.Issue(pki.Options{Name: "app"}))
	weak := []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA,
		tls.TLS_RSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA,
		tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA}
	for port, addr := range map[string]string{"secure": v.SecureAddr().String(), "unified": v.Addr().String()} {
		for name, old := range map[string]func(c *tls.Config){
			"TLS 1.0": func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 },
			"TLS 1.1": func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 },
			"suites":  func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, weak },
		} {
			client := good.Clone()
			old(client)
			nc := must.Dial(t, addr)
			_ = nc.SetDeadline(time.Now().Add(hangGuard))
			require.ErrorContains(t, tls.Client(nc, client).Handshake(), "remote error", "%s on the %s port", name,
				port)
			_ = nc.Close()
		}
		client := good.Clone()
		client.MinVersion = tls.VersionTLS10
		nc := must.Do(tls.Dial("tcp", addr, client))(t)
		require.EqualValues(t, tls.VersionTLS13, nc.ConnectionState().Version)
		_ = nc.Close()
	}
	eventually(t, func() bool { return logs.FilterMessage("TLS handshake failed").Len() == 6 }, "each is in the log")
}

// A certificate that expires ends no connection. From that moment no client begins a connection with it, also not
// with a ticket of an earlier connection.
func TestCertificateExpiresWhileConnected(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		v := serveTLS(t, tlsConfig(), nil)
		const life = 3 * time.Second // certificates count in seconds
		mortal := v.ca.Issue(pki.Options{Name: "app", NotAfter: time.Now().Add(life)})
		client := v.client(mortal)
		client.MinVersion, client.MaxVersion, client.ClientSessionCache = version, version,
			tls.NewLRUClientSessionCache(4)
		dial := func() (*wire.Conn, error) {
			return wire.Dial(v.SecureAddr().String(), wire.Options{TimeoutMs: 60_000, TLS: client})
		}
		c := must.Do(dial())(t)
		defer c.Close()
		must.Do(wireCreate(c, "/mine", wire.ACL(31, "auth", "")))(t)
		eventually(t, func() bool {
			late, err := dial()
			if err == nil {
				late.Close()
			}
			return err != nil
		}, "the certificate is refused")
		require.False(t, time.Now().Before(mortal.Cert.NotAfter))
		require.NoError(t, must.Err2(c.GetData("/mine", false)), "who is connected stays, and who it is")
		require.Equal(t, "ip:127.0.0.1 x509:CN=app", whoAmI(t, c))
	}
}

// Changed files are used within ReloadInterval. If that is off, they are used when an operator asks. The metric
// follows.
func TestCertificateFilesThatChange(t *testing.T) {
	for _, reload := range []bool{true, false} {
		cfg := tlsConfig()
		cfg.ClientCertReload = reload
		v := serveTLS(t, cfg, nil)
		expires := func() float64 {
			return gathered(t, v.Server, "warren_tls_certificate_expiry_timestamp_seconds")
		}
		first := expires()
		require.InDelta(t, float64(time.Now().Add(time.Hour).Unix()), first, 120)
		next := v.ca.Issue(pki.Options{Name: "a later one", Hosts: []string{"127.0.0.1"},
			NotAfter: time.Now().Add(50 * time.Hour)})
		v.put(t, "/tls/key.pem", next.PEM())
		later := float64(next.Cert.NotAfter.Unix())
		if reload {
			eventually(t, func() bool { return expires() == later }, "the new certificate")
		} else {
			require.Equal(t, first, expires())
			require.NoError(t, v.ReloadCertificates())
			require.Equal(t, later, expires())
		}
	}
}

// A changed list of revoked certificates takes effect without a restart.
func TestRevocationListsAreReloaded(t *testing.T) {
	cfg := tlsConfig()
	cfg.TLS.CRL = true
	v := newVault(t)
	app := v.ca.Issue(pki.Options{Name: "app"})
	v.put(t, "/tls/trust.pem", append(v.ca.PEM(), v.ca.Revoke(time.Now().Add(time.Hour))...))
	v.Server = running(t, cfg, Options{FS: v.fs})
	c := v.dial(t, app)
	v.put(t, "/tls/trust.pem", append(v.ca.PEM(), v.ca.Revoke(time.Now().Add(time.Hour), app.Cert)...))
	require.NoError(t, v.ReloadCertificates())
	require.Error(t, must.Err(wire.Dial(v.SecureAddr().String(), wire.Options{TLS: v.client(app)})))
	require.NoError(t, c.Ping(), "who is connected stays")
}

// The id of a client may be an alternative name of its certificate. A certificate with no matching name, or with
// several, has no identity.
func TestAlternativeNameIsTheClientsID(t *testing.T) {
	cfg := tlsConfig()
	cfg.X509ID = config.X509ID{Type: "SAN", SANType: 1, Match: ".*@example"}
	cfg.X509SuperUser = "root@example"
	core, logs := observer.New(zapcore.WarnLevel)
	v := serveTLS(t, cfg, zap.New(core))
	app := v.dial(t, v.ca.Issue(pki.Options{Name: "x", Emails: []string{"app@example", "app@elsewhere"}}))
	root := v.dial(t, v.ca.Issue(pki.Options{Name: "x", Emails: []string{"root@example"}}))
	require.Equal(t, "ip:127.0.0.1 x509:app@example", whoAmI(t, app))
	require.Equal(t, "ip:127.0.0.1 x509:root@example super:", whoAmI(t, root))
	must.Do(wireCreate(app, "/mine", wire.ACL(31, "x509", "app@example")))(t)
	app.MustGetData(t, "/mine", false)
	for _, names := range [][]string{nil, {"root@elsewhere"}, {"root@example", "app@example"}} {
		require.Error(t, must.Err(wire.Dial(v.SecureAddr().String(),
			wire.Options{TLS: v.client(v.ca.Issue(pki.Options{Name: "root", Emails: names}))})), names)
	}
	eventually(t, func() bool { return logs.FilterMessage("certificate refused").Len() == 3 }, "they are in the log")
	require.EqualValues(t, 3, v.Metrics.AuthFailed.Total())
}

// A certificate with a known name, signed by an unknown authority, has no identity, even where certificates are
// only requested.
func TestStrangersCertificateIsNobody(t *testing.T) {
	cfg := tlsConfig()
	cfg.TLS.ClientAuth, cfg.X509SuperUser = "want", "CN=root"
	core, logs := observer.New(zapcore.WarnLevel)
	v := serveTLS(t, cfg, zap.New(core))
	require.Contains(t, whoAmI(t, v.dial(t, v.ca.Issue(pki.Options{Name: "root"}))), "super:")
	require.Error(t, must.Err(wire.Dial(v.SecureAddr().String(),
		wire.Options{TLS: v.client(pki.NewCA("ca").Issue(pki.Options{Name: "root"}))})))
	eventually(t, func() bool { return logs.FilterMessage("TLS handshake failed").Len() > 0 }, "it is in the log")
	require.EqualValues(t, 1, v.Metrics.TlsFailed.Total())
	failed := logs.FilterMessage("TLS handshake failed").All()
	require.Len(t, failed, 1)
	require.Contains(t, failed[0].ContextMap()["error"], "unknown authority")
}

// With clientHostnameVerification a certificate must be for the client's address, or for a name of that address if
// names may be looked up.
func TestClientsCertificateIsForItsHost(t *testing.T) {
	for _, lookup := range []bool{false, true} {
		cfg := tlsConfig()
		cfg.TLS.ClientHostnameVerification, cfg.TLS.AllowReverseDNSLookup = true, lookup
		v := serveTLS(t, cfg, nil)
		for host, ok := range map[string]bool{"127.0.0.1": true, "127.0.0.2": false, "localhost": lookup,
			"elsewhere.example": false} {
			c, err := wire.Dial(v.SecureAddr().String(),
				wire.Options{TLS: v.client(v.ca.Issue(pki.Options{Name: "app", Hosts: []string{host}}))})
			require.Equal(t, ok, err == nil, "%s, lookup %v: %v", host, lookup, err)
			if err == nil {
				c.Close()
			}
		}
	}
}

// A port for TLS only answers plain text with nothing and closes at once. A port for both also requests a
// certificate from TLS clients. A silent client is closed.
func TestLanguagesOfAPort(t *testing.T) {
	cfg := tlsConfig()
	cfg.ClientPortUnification, cfg.TLS.HandshakeDetectionTimeout = true, 200*time.Millisecond
	core, logs := observer.New(zapcore.DebugLevel)
	v := serveTLS(t, cfg, zap.New(core))
	for _, first := range [][]byte{[]byte("ruok"), []byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{0}, 44)} {
		nc := must.Dial(t, v.SecureAddr().String())
		must.Do(nc.Write(first))(t)
		_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
		got, _ := io.ReadAll(nc)
		require.Empty(t, got)
		_ = nc.Close()
	}
	eventually(t, func() bool { return logs.FilterMessage("TLS handshake failed").Len() == 3 }, "they are in the log")
	for _, e := range logs.FilterMessage("TLS handshake failed").All() {
		require.Equal(t, zapcore.WarnLevel, e.Level)
		require.Equal(t, "plain text on a port for TLS only", e.ContextMap()["error"])
	}
	_, err := wire.Dial(v.Addr().String(), wire.Options{TLS: v.client(nil)})
	require.Error(t, err, "without a certificate")
	_, err = wire.Dial(v.Addr().String(), wire.Options{TLS: v.client(pki.NewCA("ca").Issue(pki.Options{Name: "app"}))})
	require.Error(t, err, "of a stranger")
	for _, addr := range []net.Addr{v.Addr(), v.SecureAddr()} {
		nc := must.Dial(t, addr.String())
		_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
		_, err := io.ReadAll(nc)
		require.NotContains(t, fmt.Sprint(err), "timeout", "the silent are closed")
		_ = nc.Close()
	}
}

// The defaults of TLS.
func TestDefaultsOfTLS(t *testing.T) {
	cfg := config.Default()
	require.Equal(t, "need", cfg.TLS.ClientAuth)
	require.Equal(t, "need", cfg.QuorumTLS.ClientAuth)
	require.True(t, cfg.TLS.HostnameVerification)
	require.True(t, cfg.QuorumTLS.HostnameVerification)
	require.True(t, cfg.ClientCertReload)
	require.True(t, cfg.SSLQuorumReloadCertFiles)
	require.Equal(t, config.PortUnset, cfg.SecureClientPort)
	require.False(t, cfg.ClientPortUnification || cfg.PortUnification || cfg.SSLQuorum || cfg.EnforceAuth.Enabled ||
		cfg.TLS.AllowReverseDNSLookup)
}
