package keystore

import (
	"bytes"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sealJKS appends the integrity hash.
func sealJKS(body []byte, password string) []byte {
	h := sha1.New()
	h.Write(utf16Bytes(password))
	h.Write([]byte(jksWhitener))
	h.Write(body)
	return h.Sum(append([]byte(nil), body...))
}

func blockOf(t testing.TB, data []byte) []byte {
	block, _ := pem.Decode(data)
	require.NotNil(t, block)
	return block.Bytes
}

func settings() *config.TLS {
	return &config.TLS{
		KeyStore: config.Store{Location: "/key.pem"}, TrustStore: config.Store{Location: "/trust.pem"},
		ClientAuth: "need", HostnameVerification: true,
	}
}

// side opens keys with the given identity and what it trusts.
func side(t testing.TB, cfg *config.TLS, l *pki.Leaf, trust ...[]byte) *Keys {
	t.Helper()
	files := map[string][]byte{"key.pem": l.PEM()}
	for _, b := range trust {
		files["trust.pem"] = append(files["trust.pem"], b...)
	}
	k := must.Do(Open(memory(t, files), cfg, nil))(t)
	return k
}

// shake performs one handshake over loopback and returns what each side says.
func shake(t testing.TB, server, client *tls.Config) (state tls.ConnectionState, fromServer, fromClient error) {
	t.Helper()
	ln := must.Listen(t)
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		s := tls.Server(nc, server)
		defer s.Close()
		_ = s.SetDeadline(time.Now().Add(time.Minute))
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte{'x'})
		}
		done <- err
	}()
	nc := must.Do(net.Dial("tcp", ln.Addr().String()))(t)
	c := tls.Client(nc, client)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if fromClient = c.Handshake(); fromClient == nil {
		// With TLS 1.3 the client hears of a refusal here, and of a ticket.
		if n, err := c.Read(make([]byte, 1)); n == 0 {
			fromClient = err
		}
	}
	state = c.ConnectionState()
	_ = c.Close()
	return state, <-done, fromClient
}

func TestHandshakes(t *testing.T) {
	ca, stranger := pki.NewCA("ca"), pki.NewCA("stranger")
	sub := ca.Sub("sub")
	server := ca.Issue(pki.Options{Name: "server", Hosts: []string{"zk1.example", "127.0.0.1"}})
	client := ca.Issue(pki.Options{Name: "client", Hosts: []string{"app.example"}})
	expired := time.Now().Add(-time.Minute)
	set := func(change func(*config.TLS)) *config.TLS {
		cfg := settings()
		if change != nil {
			change(cfg)
		}
		return cfg
	}
	fromHost := func(c *config.TLS) { c.ClientHostnameVerification = true }
	for name, c := range map[string]struct {
		server, client       *pki.Leaf
		onServer, onClient   func(*config.TLS)
		host                 string
		badServer, badClient string // what the side says that refuses; "" if it does not
	}{
		"good":            {server: server, client: client},
		"good by address": {server: server, client: client, host: "127.0.0.1"},
		"with intermediate": {server: sub.Issue(pki.Options{Hosts: []string{"zk1.example"}}),
			client: sub.Issue(pki.Options{Name: "c"})},
		"common name only":       {server: ca.Issue(pki.Options{Name: "zk1.example"}), client: client},
		"common name is address": {server: ca.Issue(pki.Options{Name: "10.0.0.1"}), client: client, host: "10.0.0.1"},
		"wrong host":             {server: server, client: client, host: "zk2.example", badClient: "another host"},
		"wrong common name": {server: ca.Issue(pki.Options{Name: "zk2.example"}), client: client,
			badClient: "another host"},
		"name beside names": {server: ca.Issue(pki.Options{Name: "zk1.example", Hosts: []string{"x"}}), client: client,
			badClient: "another host"},
		"wrong host, not asked": {server: server, client: client, host: "zk2.example",
			onClient: func(c *config.TLS) { c.HostnameVerification = false }},
		"strange server": {server: stranger.Issue(pki.Options{Hosts: []string{"zk1.example"}}), client: client,
			badClient: "unknown authority"},
		"strange client": {server: server, client: stranger.Issue(pki.Options{Name: "c"}),
			badServer: "unknown authority"},
		"expired server": {server: ca.Issue(pki.Options{Hosts: []string{"zk1.example"}, NotAfter: expired}),
			client: client, badClient: "expired"},
		"expired client": {server: server, client: ca.Issue(pki.Options{Name: "c", NotAfter: expired}),
			badServer: "expired"},
		"server as client": {server: server,
			client:    ca.Issue(pki.Options{Usage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}),
			badServer: "key usage"},
		"client as server": {server: ca.Issue(pki.Options{Hosts: []string{"zk1.example"},
			Usage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}),
			client: client, badClient: "key usage"},
		"client from its host": {server: server, client: ca.Issue(pki.Options{Hosts: []string{"127.0.0.1"}}),
			onServer: fromHost},
		"client from elsewhere": {server: server, client: client, onServer: fromHost, badServer: "another host"},
		"expired, not asked": {server: server, client: ca.Issue(pki.Options{NotAfter: expired}),
			onServer: func(c *config.TLS) { c.ClientAuth = "none" }},
		"expired, wanted": {server: server, client: ca.Issue(pki.Options{NotAfter: expired}),
			onServer: func(c *config.TLS) { c.ClientAuth = "want" }, badServer: "expired"},
		"1.2 only": {server: server, client: client, onServer: func(c *config.TLS) { c.Protocol = "TLSv1.2" }},
		"no common version": {server: server, client: client, onServer: func(c *config.TLS) { c.Protocol = "TLSv1.2" },
			onClient: func(c *config.TLS) { c.EnabledProtocols = []string{"TLSv1.3"} }, badServer: "version",
			badClient: "version"},
	} {
		t.Run(name, func(t *testing.T) {
			s := side(t, set(c.onServer), c.server, ca.PEM())
			k := side(t, set(c.onClient), c.client, ca.PEM())
			if c.host == "" {
				c.host = "zk1.example"
			}
			_, fromServer, fromClient := shake(t, s.Server(), k.client(c.host))
			switch {
			case c.badServer != "":
				require.ErrorContains(t, fromServer, c.badServer)
				require.Error(t, fromClient)
			case c.badClient != "":
				require.Error(t, fromServer)
			default:
				require.NoError(t, fromServer)
			}
			switch {
			case c.badClient != "":
				require.ErrorContains(t, fromClient, c.badClient)
			case c.badServer == "":
				require.NoError(t, fromClient)
			}
		})
	}
}

func TestClientWithoutCertificate(t *testing.T) {
	ca := pki.NewCA("ca")
	server := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}})
	for auth, ok := range map[string]bool{"none": true, "want": true, "need": false} {
		cfg := settings()
		cfg.ClientAuth = auth
		s := side(t, cfg, server, ca.PEM())
		k := must.Do(Open(memory(t, map[string][]byte{"trust.pem": ca.PEM()}),
			&config.TLS{TrustStore: config.Store{Location: "/trust.pem"}, HostnameVerification: true}, nil))(t)
		require.Nil(t, k.Server())
		require.True(t, k.Expires().IsZero())
		_, fromServer, fromClient := shake(t, s.Server(), k.client("zk1.example"))
		require.Equal(t, ok, fromServer == nil, "%s: %v", auth, fromServer)
		require.Equal(t, ok, fromClient == nil, "%s: %v", auth, fromClient)
	}
}

// A client configuration without a name is an error, not a free pass.
func TestNoNameIsNoFreePass(t *testing.T) {
	ca := pki.NewCA("ca")
	l := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}})
	_, _, fromClient := shake(t, side(t, settings(), l, ca.PEM()).Server(),
		side(t, settings(), l, ca.PEM()).client(""))
	require.ErrorIs(t, fromClient, errNoName)
}

func TestRevocation(t *testing.T) {
	ca := pki.NewCA("ca")
	sub := ca.Sub("sub")
	server := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}})
	client, deep := ca.Issue(pki.Options{Name: "client"}), sub.Issue(pki.Options{Name: "deep"})
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	forged := pki.NewCA("ca").Revoke(later) // the same name, another key
	for name, c := range map[string]struct {
		client *pki.Leaf
		lists  [][]byte
		want   error
	}{
		"current list":                {client, [][]byte{ca.Revoke(later, server.Cert)}, nil},
		"revoked":                     {client, [][]byte{ca.Revoke(later, server.Cert, client.Cert)}, errRevoked},
		"revoked by one of two lists": {client, [][]byte{ca.Revoke(later), ca.Revoke(later, client.Cert)}, errRevoked},
		"revoked by an old list": {client, [][]byte{ca.Revoke(before, client.Cert), ca.Revoke(later)},
			errRevoked},
		"only an old list":            {client, [][]byte{ca.Revoke(before)}, errNoList},
		"list of somebody else":       {client, [][]byte{forged}, errNoList},
		"intermediate without a list": {deep, [][]byte{ca.Revoke(later)}, errNoList},
		"intermediate with a list":    {deep, [][]byte{ca.Revoke(later), sub.Revoke(later)}, nil},
		"intermediate is revoked":     {deep, [][]byte{ca.Revoke(later, sub.Cert), sub.Revoke(later)}, errRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			cfg.CRL = true
			s := side(t, cfg, server, append(c.lists, ca.PEM())...)
			k := side(t, settings(), c.client, ca.PEM()).client("zk1.example")
			_, fromServer, _ := shake(t, s.Server(), k)
			if c.want == nil {
				require.NoError(t, fromServer)
			} else {
				require.ErrorIs(t, fromServer, c.want)
			}
		})
	}
}

// A ticket of an earlier connection does not help a certificate that is not trusted any more.
func TestResumptionIsVerified(t *testing.T) {
	ca, next := pki.NewCA("ca"), pki.NewCA("next")
	server, client := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}}), ca.Issue(pki.Options{Name: "client"})
	for _, version := range []string{"TLSv1.2", "TLSv1.3"} {
		cfg := settings()
		cfg.Protocol = version
		fs := memory(t, map[string][]byte{"key.pem": server.PEM(), "trust.pem": ca.PEM()})
		s := must.Do(Open(fs, cfg, nil))(t)
		k := side(t, settings(), client, ca.PEM()).client("zk1.example")
		k.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		for i := range 2 {
			state, fromServer, fromClient := shake(t, s.Server(), k)
			require.NoError(t, fromServer)
			require.NoError(t, fromClient)
			require.Equal(t, i == 1, state.DidResume, version)
		}
		write(t, fs, "/trust.pem", next.PEM())
		require.NoError(t, s.Reload())
		_, fromServer, _ := shake(t, s.Server(), k)
		require.ErrorContains(t, fromServer, "unknown authority", version)
	}
}

func TestReload(t *testing.T) {
	ca := pki.NewCA("ca")
	first := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}, NotAfter: time.Now().Add(10 * time.Minute)})
	second := ca.Issue(pki.Options{Name: "a longer one, since files in memory have no time",
		Hosts: []string{"zk1.example"}, NotAfter: time.Now().Add(20 * time.Minute)})
	fs := memory(t, map[string][]byte{"key.pem": first.PEM(), "trust.pem": ca.PEM()})
	core, logs := observer.New(zap.InfoLevel)
	k := must.Do(Open(fs, settings(), zap.New(core)))(t)
	require.Equal(t, first.Cert.NotAfter, k.Expires())

	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		k.Watch(time.Millisecond, stop)
	}()
	broken := second.PEM()[:300]
	write(t, fs, "/key.pem", broken)
	require.Eventually(t, func() bool { return logs.FilterMessageSnippet("cannot be loaded").Len() == 1 },
		time.Minute, time.Millisecond)
	require.Equal(t, first.Cert.NotAfter, k.Expires())
	write(t, fs, "/key.pem", second.PEM())
	require.Eventually(t, func() bool { return k.Expires().Equal(second.Cert.NotAfter) },
		time.Minute, time.Millisecond)
	require.NoError(t, fs.Remove("/trust.pem"))
	require.Eventually(t, func() bool { return logs.FilterMessageSnippet("cannot be loaded").Len() == 2 },
		time.Minute, time.Millisecond)
	require.True(t, k.Expires().Equal(second.Cert.NotAfter))
	close(stop)
	<-done
	require.ErrorContains(t, k.Reload(), "trust.pem")
}

// A store that is being written is refused wherever it ends within a block, and the old one stays in use: with fewer
// authorities, clients would be turned away, and with fewer lists, revoked ones would come in.
func TestStoreThatIsBeingWritten(t *testing.T) {
	ca, other := pki.NewCA("ca").PEM(), pki.NewCA("other").PEM()
	fs := memory(t, map[string][]byte{"trust.pem": ca})
	k := must.Do(Open(fs, &config.TLS{TrustStore: config.Store{Location: "/trust.pem"}}, nil))(t)
	whole := slices.Concat(ca, other)
	for n := len(ca) + len(beginning); n < len(whole)-len("-\n"); n++ {
		write(t, fs, "/trust.pem", whole[:n])
		require.ErrorIs(t, k.Reload(), errTorn, "%s", whole[:n])
	}
	write(t, fs, "/trust.pem", slices.Concat(ca[:100], other))
	require.ErrorIs(t, k.Reload(), errTorn)
	write(t, fs, "/trust.pem", whole)
	require.NoError(t, k.Reload())
}

// A secret of type kubernetes.io/tls, mounted as a folder, is both stores, and what replaces it counts.
func TestFolderIsAStore(t *testing.T) {
	ca := pki.NewCA("ca")
	server := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}, NotAfter: time.Now().Add(10 * time.Minute)})
	client := ca.Issue(pki.Options{Name: "client"})
	parts := func(l *pki.Leaf) (chain, key []byte) {
		for text := l.PEM(); ; {
			var block *pem.Block
			if block, text = pem.Decode(text); block == nil {
				return chain, key
			}
			if one := pem.EncodeToMemory(block); block.Type == "CERTIFICATE" {
				chain = append(chain, one...)
			} else {
				key = bytes.TrimSpace(one)
			}
		}
	}
	chain, key := parts(server)
	fs := memory(t, map[string][]byte{"tls.crt": bytes.TrimSpace(chain), "tls.key": key, "ca.crt": ca.PEM()})
	cfg := settings()
	cfg.KeyStore, cfg.TrustStore = config.Store{Location: "/"}, config.Store{Location: "/"}
	k := must.Do(Open(fs, cfg, nil))(t)
	_, fromServer, fromClient := shake(t, k.Server(), side(t, settings(), client, ca.PEM()).client("zk1.example"))
	require.NoError(t, fromServer)
	require.NoError(t, fromClient)

	longer := ca.Issue(pki.Options{Name: "a longer one, since files in memory have no time",
		NotAfter: time.Now().Add(20 * time.Minute)})
	chain, key = parts(longer)
	write(t, fs, "/tls.crt", chain)
	require.ErrorContains(t, k.Reload(), "the private key is not the one of the first certificate")
	write(t, fs, "/tls.key", key)
	require.NoError(t, k.Reload())
	require.True(t, k.Expires().Equal(longer.Cert.NotAfter))
	require.NoError(t, fs.Remove("/ca.crt"))
	require.ErrorContains(t, k.Reload(), "ca.crt")
}

func TestOpenRefuses(t *testing.T) {
	ca := pki.NewCA("ca")
	l := ca.Issue(pki.Options{Name: "l"})
	for want, change := range map[string]func(*config.TLS){
		"ocsp=true is not supported": func(c *config.TLS) { c.OCSP = true },
		"needs revocation lists":     func(c *config.TLS) { c.CRL = true },
		"neither a key store nor": func(c *config.TLS) {
			c.KeyStore, c.TrustStore = config.Store{}, config.Store{}
		},
		"clientAuth=need needs a trust": func(c *config.TLS) { c.TrustStore = config.Store{} },
		"clientAuth=want needs a trust": func(c *config.TLS) {
			c.TrustStore, c.ClientAuth = config.Store{}, "want"
		},
		"can be served":                   func(c *config.TLS) { c.Protocol = "TLSv1" },
		`"TLSv9" is not a known protocol`: func(c *config.TLS) { c.EnabledProtocols = []string{"TLSv9"} },
		"correct their names": func(c *config.TLS) {
			c.CipherSuites = []string{"TLS_RSA_WITH_RC4_128_SHA"}
		},
		"none of these cipher suites can be": func(c *config.TLS) {
			c.CipherSuites, c.Protocol = []string{"TLS_AES_128_GCM_SHA256"}, "TLSv1.2"
		},
	} {
		cfg := settings()
		change(cfg)
		_, err := Open(memory(t, map[string][]byte{"key.pem": l.PEM(), "trust.pem": ca.PEM()}), cfg, nil)
		require.ErrorContains(t, err, want)
	}
	require.Error(t, must.Err(Open(vfs.OS(), settings(), nil)))
}

func TestCipherChoice(t *testing.T) {
	const gcm = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
	for _, c := range []struct {
		protocol string
		enabled  []string
		suites   []string
		min, max uint16
		picked   []uint16
		warnings int
	}{
		{"", nil, nil, tls.VersionTLS12, tls.VersionTLS13, nil, 0},
		{"TLS", nil, nil, tls.VersionTLS12, tls.VersionTLS13, nil, 0},
		{"TLSv1.3", nil, nil, tls.VersionTLS13, tls.VersionTLS13, nil, 0},
		{"TLSv1.3", []string{"TLSv1.2"}, nil, tls.VersionTLS12, tls.VersionTLS12, nil, 0},
		{"", []string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}, nil, tls.VersionTLS12, tls.VersionTLS13, nil, 2},
		{"", nil, []string{gcm}, tls.VersionTLS12, tls.VersionTLS12,
			[]uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}, 0},
		{"", nil, []string{"TLS_AES_256_GCM_SHA384"}, tls.VersionTLS13, tls.VersionTLS13, nil, 0},
		{"", nil, []string{"TLS_AES_256_GCM_SHA384", gcm, "TLS_RSA_WITH_AES_128_CBC_SHA"}, tls.VersionTLS12,
			tls.VersionTLS13, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}, 1},
	} {
		got := must.Do(chooseCiphers(&config.TLS{Protocol: c.protocol, EnabledProtocols: c.enabled,
			CipherSuites: c.suites}))(t)
		require.Equal(t, c.min, got.min, "%+v", c)
		require.Equal(t, c.max, got.max, "%+v", c)
		require.Equal(t, c.picked, got.suites, "%+v", c)
		require.Len(t, got.warnings, c.warnings, "%+v", c)
	}
}
