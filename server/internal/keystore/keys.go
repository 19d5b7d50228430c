package keystore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto/hostport"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/wal/vfs"
)

// Keys is the key material of one TLS context, from its current files. It may be used by many goroutines.
type Keys struct {
	fs      vfs.FS
	cfg     *config.TLS
	log     *zap.Logger
	ciphers *cipherChoice
	base    *tls.Config // of servers: every handshake uses its ticket keys
	current atomic.Pointer[material]

	reload struct {
		sync.Mutex
		stamps  string // of the files that were last loaded, or tried
		refused string // the error that was last logged, so that it is logged once
	}
}

// material is what was loaded at one moment. It is immutable.
type material struct {
	identity *tls.Certificate // nil without a key store
	trusted  []*x509.Certificate
	roots    *x509.CertPool // nil without a trust store
	lists    []*x509.RevocationList
	server   *tls.Config // nil without a key store
}

// Open loads the stores of cfg. fsys has the files that cfg names. A nil log drops warnings and messages of
// reloads. Errors name the file, and never its contents or password.
func Open(fsys vfs.FS, cfg *config.TLS, log *zap.Logger) (*Keys, error) {
	log = cmp.Or(log, zap.NewNop())
	k := &Keys{fs: fsys, cfg: cfg, log: log}
	if cfg.OCSP {
		return nil, errors.New("keystore: ocsp=true is not supported: use crl=true with lists in the trust store")
	}
	if cfg.KeyStore.Location == "" && cfg.TrustStore.Location == "" {
		return nil, errors.New("keystore: neither a key store nor a trust store is set")
	}
	var err error
	if k.ciphers, err = chooseCiphers(cfg); err != nil {
		return nil, err
	}
	for _, w := range k.ciphers.warnings {
		log.Warn(w)
	}
	k.base = &tls.Config{MinVersion: k.ciphers.min, MaxVersion: k.ciphers.max, CipherSuites: k.ciphers.suites}
	k.base.GetConfigForClient = k.configFor
	k.reload.stamps = k.stamps()
	m, err := k.load()
	if err != nil {
		return nil, err
	}
	k.current.Store(m)
	return k, nil
}

// load reads the files.
func (k *Keys) load() (*material, error) {
	m := &material{}
	var err error
	if k.cfg.KeyStore.Location != "" {
		if m.identity, err = loadIdentity(k.fs, &k.cfg.KeyStore); err != nil {
			return nil, err
		}
	}
	if k.cfg.TrustStore.Location != "" {
		trust, err := loadTrust(k.fs, &k.cfg.TrustStore)
		if err != nil {
			return nil, err
		}
		m.trusted, m.lists, m.roots = trust.trusted, trust.lists, x509.NewCertPool()
		for _, x := range trust.trusted {
			m.roots.AddCert(x)
		}
	}
	if k.cfg.CRL && len(m.lists) == 0 {
		return nil, forTrust.wrong(&k.cfg.TrustStore, errors.New(
			"crl=true needs revocation lists, as blocks \"X509 CRL\" in a trust store of type PEM: "+
				"lists are not fetched from the network"))
	}
	if m.identity != nil {
		if k.cfg.ClientAuth != "none" && m.roots == nil {
			return nil, forIdentity.wrong(&k.cfg.KeyStore, fmt.Errorf("clientAuth=%s needs a trust store to check "+
				"the certificates of clients with", k.cfg.ClientAuth))
		}
		m.server = k.serverConfig(m)
	}
	return m, nil
}

// serverConfig returns the configuration of the accepting side with m.
func (k *Keys) serverConfig(m *material) *tls.Config {
	cfg := k.base.Clone()
	cfg.GetConfigForClient = nil
	cfg.Certificates = []tls.Certificate{*m.identity}
	switch k.cfg.ClientAuth {
	case "none":
	case "want":
		cfg.ClientAuth = tls.RequestClientCert
	default:
		cfg.ClientAuth = tls.RequireAnyClientCert
	}
	if cfg.ClientAuth != tls.NoClientCert {
		cfg.ClientCAs = m.roots // the client chooses its certificate by these
		cfg.VerifyConnection = func(cs tls.ConnectionState) error { return k.verifyClient(m, &cs, peer{}) }
	}
	return cfg
}

// configFor returns the configuration for one handshake. The certificate of the client is compared with its
// address only if the configuration asks for it.
func (k *Keys) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	m := k.current.Load()
	if !k.checksClientHost() || m.server.ClientAuth == tls.NoClientCert {
		return m.server, nil
	}
	at := peerOf(hello.Conn)
	cfg := m.server.Clone()
	cfg.VerifyConnection = func(cs tls.ConnectionState) error { return k.verifyClient(m, &cs, at) }
	return cfg, nil
}

// peer is the other end of a handshake.
type peer struct {
	addr netip.Addr
	// pause is called before anything but the peer is waited for. A handshake that has a turn gives it up.
	pause func()
}

func peerOf(c net.Conn) peer {
	ap, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	at := peer{ap.Addr().Unmap().WithZone(""), func() {}}
	if turns, ok := c.(interface{ Pause() }); ok {
		at.pause = turns.Pause
	}
	return at
}

// Server returns the configuration of an accepting side. Each handshake uses the files of that moment. The caller
// must not change it. It is nil if there is no key store.
func (k *Keys) Server() *tls.Config {
	if k.cfg.KeyStore.Location == "" {
		return nil
	}
	return k.base
}

// client returns a configuration for connecting to host, a name or an address, with the present files: call it
// for each connection. The certificate of the server is compared with host unless hostname verification is off.
// The caller owns the result.
func (k *Keys) client(host string) *tls.Config {
	m := k.current.Load()
	cfg := &tls.Config{
		ServerName: hostport.WithoutZone(host),
		MinVersion: k.ciphers.min, MaxVersion: k.ciphers.max, CipherSuites: k.ciphers.suites,
		InsecureSkipVerify: true, // VerifyConnection checks, with ZooKeeper's rules for names
	}
	if m.identity != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return m.identity, nil
		}
	}
	cfg.VerifyConnection = func(cs tls.ConnectionState) error { return k.verifyServer(m, &cs, host) }
	return cfg
}

// Expires returns when the first certificate of this server's chain expires; zero without a key store.
func (k *Keys) Expires() time.Time {
	m := k.current.Load()
	if m.identity == nil {
		return time.Time{}
	}
	first := m.identity.Leaf.NotAfter
	for _, raw := range m.identity.Certificate[1:] {
		if x, err := x509.ParseCertificate(raw); err == nil && x.NotAfter.Before(first) {
			first = x.NotAfter
		}
	}
	return first
}
