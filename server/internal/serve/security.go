package serve

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// clientSecurity is TLS, SASL and the audit log of the client ports. It is made before the first port is opened.
// Without a key store, a JAAS file and an audit log it is
// a server without them. It does not change after Secure; Guesses and Labels have locks of their own.
type clientSecurity struct {
	env   *env.Env
	keys  *keystore.Keys      // nil without TLS
	tls   *tls.Config         // for every handshake: Keys.Server() with a count of handshakes
	sasl  *sasl.Acceptor      // nil without SASL
	names *security.CertNames // which part of a certificate is an id
	audit *audit.Log          // nil without an audit log

	secrets sessions.Secrets // which password a session has
	// enforced are schemes: if there are any, a connection must have authenticated with one of them.
	enforced []string
	Guesses  *limits.Attempts // of passwords, at every door of the server: wrong ones
	// Labels name sessions for readers that must not know their ids, in all answers of the server alike.
	Labels *sessions.Labels
}

// Secure loads certificates and users, and opens the audit log if it is enabled. It comes before Listen.
func (s *clientSecurity) Secure() (err error) {
	if err = s.CheckSecurity(); err == nil && s.env.Config.Audit.Enabled {
		s.audit, err = audit.Open(s.env.FS, s.env.Log, s.env.Config.Audit.File)
	}
	return err
}

// CheckSecurity loads certificates and users, and looks whether the audit log can be opened. It returns a ConfigError
// for what is not there.
func (s *clientSecurity) CheckSecurity() error {
	err := s.loadSecurity()
	if err == nil && s.env.Config.Audit.Enabled {
		if err = audit.Check(s.env.FS, s.env.Config.Audit.File); err != nil {
			err = s.env.Config.About(fmt.Errorf("server: the audit log: %w", err), "audit.file", "audit.enable")
		}
	}
	if err != nil {
		return &env.ConfigError{Err: err}
	}
	return nil
}

func (s *clientSecurity) loadSecurity() error {
	if s.env.Config.SessionRequireClientSASLAuth && !slices.Contains(s.enforced, auth.SchemeSASL) {
		s.enforced = append(slices.Clone(s.enforced), auth.SchemeSASL)
	}
	var err error
	if s.names, err = security.NewCertNames(&s.env.Config.Security); err != nil {
		return err
	}
	if s.env.Config.SecureClientPort != config.PortUnset || s.env.Config.ClientPortUnification {
		if err := s.loadKeys(); err != nil {
			return keystore.Located(fmt.Errorf("server: TLS of clients (ssl.keyStore.*, ssl.trustStore.*): %w", err),
				s.env.Config, "ssl.")
		}
	}
	if s.env.Config.SessionSecrets != "" {
		if err := s.loadSecrets(s.env.Config.SessionSecrets); err != nil {
			return s.env.Config.About(fmt.Errorf("server: session secrets: %w", err),
				"warren.sessionSecrets")
		}
	}
	return s.env.Config.About(s.loadUsers(), "java.security.auth.login.config", "sessionRequireClientSASLAuth",
		"enforce.auth.schemes")
}

// loadSecrets reads the secrets of session passwords.
func (s *clientSecurity) loadSecrets(name string) error {
	f, err := s.env.FS.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sessions.SecretsBytesMax+1))
	if err != nil {
		return err
	}
	if s.secrets, err = sessions.ParseSecrets(text); err != nil {
		return err
	}
	s.env.Log.Info("session passwords are derived from warren.sessionSecrets",
		zap.Bool("zookeeper_passwords_accepted", s.secrets.Guessable()))
	return nil
}

// loadKeys reads the certificates.
func (s *clientSecurity) loadKeys() error {
	keys, err := keystore.Open(s.env.FS, &s.env.Config.TLS, s.env.Log)
	if err != nil {
		return err
	}
	if keys.Server() == nil {
		return errNoKeyStore
	}
	s.keys, s.tls = keys, s.countHandshakes(keys.Server())
	s.exportExpiry(keys)
	if !s.env.Runtime.Now().Before(keys.Expires()) {
		s.env.Log.Error("the certificate of the client ports has expired: clients that verify it refuse to connect",
			zap.Time("expired", keys.Expires()))
	}
	s.env.Log.Info("TLS is on", zap.String("client_auth", s.env.Config.TLS.ClientAuth),
		zap.Time("certificate_expires", keys.Expires()))
	return nil
}

var (
	errNoKeyStore = errors.New("server: ssl.keyStore.location is not set, but a port serves TLS")
	errNoUsers    = errors.New("server: clients must authenticate with SASL and no JAAS file has a section for it: " +
		"set java.security.auth.login.config")
)

// loadUsers reads the JAAS file, if there is one. If the file has no section for clients, no client can authenticate
// by SASL: the file may be for the other servers only. Source: operations 8.4.
func (s *clientSecurity) loadUsers() error {
	required := s.requiresSASL()
	cfg := &s.env.Config.SASL
	if cfg.LoginConfig == "" {
		if required {
			return errNoUsers
		}
		return nil
	}
	jaas, err := security.ReadJAAS(s.env.FS, cfg.LoginConfig)
	if err != nil {
		return err
	}
	s.sasl, err = s.acceptorOf(jaas)
	switch {
	case errors.Is(err, sasl.ErrNoSection) && !required:
		level := zap.InfoLevel
		if s.env.Config.HasScheme(auth.SchemeSASL) || s.env.Config.Given("sasl.serverconfig") {
			level = zap.WarnLevel
		}
		s.env.Log.Log(level, "the JAAS file has no section for clients: SASL is off",
			zap.String("section", cfg.ServerSection))
		return nil
	case err != nil:
		return fmt.Errorf("server: %s: %w", cfg.LoginConfig, err)
	}
	s.env.Log.Info("SASL is on", zap.String("mechanism", s.sasl.Mechanism), zap.Bool("required", required))
	return nil
}

// acceptorOf returns how clients authenticate: by Kerberos, if the section for them says so, or by DIGEST-MD5.
func (s *clientSecurity) acceptorOf(jaas sasl.JAAS) (*sasl.Acceptor, error) {
	cfg := &s.env.Config.SASL
	k, err := jaas.Kerberos(cfg.ServerSection)
	if err != nil {
		return nil, err
	}
	if k != nil {
		return s.kerberosOf(k)
	}
	users, err := jaas.Users(cfg.ServerSection)
	if err != nil {
		return nil, err
	}
	if cfg.SuperPassword != "" {
		users = users.With(auth.SchemeSuper, string(cfg.SuperPassword))
	}
	return sasl.NewDigest(digestmd5.ClientRealm, users), nil
}

func (s *clientSecurity) kerberosOf(k *sasl.Kerberos) (*sasl.Acceptor, error) {
	cfg := &s.env.Config.SASL
	tickets := &security.Tickets{FS: s.env.FS, Log: s.env.Log, Now: s.env.Runtime.Now, Config: cfg.KerberosConfig}
	acceptor, err := tickets.Accept(k)
	if err != nil {
		return nil, err
	}
	realm, err := tickets.Realm()
	if err != nil {
		return nil, err
	}
	realm = cmp.Or(realm, acceptor.Service().Realm)
	names, err := sasl.NewNames(cfg.AuthToLocal, realm, cfg.RemoveHostFromPrincipal, cfg.RemoveRealmFromPrincipal)
	if err != nil {
		return nil, err
	}
	s.env.Log.Info("clients authenticate with Kerberos", zap.Stringer("principal", acceptor.Service()),
		zap.String("keytab", k.Keytab))
	return sasl.NewKerberos(acceptor, names.User), nil
}

// requiresSASL reports whether clients that have not authenticated by SASL are refused.
func (s *clientSecurity) requiresSASL() bool { return slices.Contains(s.enforced, auth.SchemeSASL) }

// StartSecurity starts the goroutines that watch the certificates and write the audit log. It is one of the last
// steps of Start.
func (s *clientSecurity) StartSecurity() {
	if k := s.keys; k != nil && s.env.Config.ClientCertReload {
		s.env.Spawn("keys", func() { k.Watch(keystore.ReloadInterval, s.env.Stopping.Done()) })
	}
	if a := s.audit; a != nil {
		a.Started()
		s.env.Spawn("audit", func() { a.Run(s.env.Stopping.Done(), s.env.Applied.Done()) })
	}
}

// CloseAudit closes the audit log, after a start that has failed before StartSecurity too.
func (s *clientSecurity) CloseAudit() {
	if s.audit != nil {
		s.audit.Close()
	}
}

// Keys are the certificates of the client ports; nil without TLS there.
func (s *clientSecurity) Keys() *keystore.Keys { return s.keys }

// AuditLink notes in the audit log, if there is one, that a link to a path was made.
func (s *clientSecurity) AuditLink(ids []auth.Identity, addr netip.Addr, path string) {
	if log := s.audit; log != nil {
		log.Link(ids, addr, path)
	}
}

// SessionIDsOpen reports whether a client that knows the id of a session can take the session over.
func (s *clientSecurity) SessionIDsOpen() bool { return s.secrets.Guessable() }

// Label names a session so that the name opens it to no reader: by its id if nothing can be done with that, else by
// a name that holds until the restart of the server.
func (s *clientSecurity) Label(id proto.SessionID) string {
	if !s.SessionIDsOpen() {
		return id.String()
	}
	return s.Labels.Text(id)
}

func (s *clientSecurity) Password(id proto.SessionID) [proto.PasswordSize]byte {
	return s.secrets.Password(id)
}

// CertIdentities returns the identities that a client's certificate proves.
func (s *clientSecurity) CertIdentities(cert *x509.Certificate) ([]auth.Identity, error) {
	return s.names.Identities(cert)
}

var errHandshakeLimit = errors.New(
	"too many TLS handshakes under way: netty.server.outstandingHandshake.limit is reached")

// countHandshakes returns cfg with a count of the handshakes under way. A handshake counts from the client's first
// message on: a connection that sends nothing costs no work, and takes no place from others.
func (s *clientSecurity) countHandshakes(cfg *tls.Config) *tls.Config {
	choose := cfg.GetConfigForClient
	counting := cfg.Clone()
	counting.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		below, ok := hello.Conn.(*tlsSocket)
		if ok && !below.counted {
			below.counted = true
			n, limit := s.env.Metrics.TlsUnfinished.Add(1), int64(s.env.Config.HandshakeLimit)
			if limit >= 0 && n > limit {
				s.env.Metrics.TlsExceeded.Inc()
				return nil, errHandshakeLimit
			}
			if below.shake.Begin() && newPeek().gone(below.TCPConn) {
				return nil, io.ErrUnexpectedEOF // it costs no more work
			}
		}
		return choose(hello)
	}
	return counting
}

// exportExpiry exports the expiry time of the certificate as a metric.
func (s *clientSecurity) exportExpiry(keys *keystore.Keys) {
	s.env.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_tls_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that clients are shown, or one above it, expires; renew it before.",
	}, func() float64 { return float64(keys.Expires().Unix()) }))
}

// Suffices reports whether a client with these identities may ask for anything: it has one of an enforced scheme, if
// a scheme is enforced.
func (s *clientSecurity) Suffices(ids []auth.Identity) bool {
	return len(s.enforced) == 0 ||
		slices.ContainsFunc(ids, func(id auth.Identity) bool { return slices.Contains(s.enforced, id.Scheme) })
}

// PrepareStages tells the stages how sessions are named. It is called before the first request can come.
func (s *clientSecurity) PrepareStages() { s.env.Stages.Attach(s.Label, s.secrets.SamplingKey()) }
