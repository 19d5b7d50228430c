package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"go.uber.org/zap"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Secure loads certificates and users, and opens the audit log. It comes before Listen.
func (s *Front) Secure() error {
	if err := s.CheckSecurity(); err != nil {
		return err
	}
	return s.openAudit()
}

// CheckSecurity loads certificates and users, and looks whether the audit log can be opened. It returns a ConfigError
// for what is not there.
func (s *Front) CheckSecurity() error {
	err := s.loadSecurity()
	if err == nil && s.Config.Audit.Enabled {
		if err = audit.Check(s.FS, s.Config.Audit.File); err != nil {
			err = s.Config.About(fmt.Errorf("server: the audit log: %w", err), "audit.file", "audit.enable")
		}
	}
	if err != nil {
		return &env.ConfigError{Err: err}
	}
	return nil
}

func (s *Front) loadSecurity() error {
	if s.Config.SessionRequireClientSASLAuth && !slices.Contains(s.enforced, auth.SchemeSASL) {
		s.enforced = append(slices.Clone(s.enforced), auth.SchemeSASL)
	}
	var err error
	if s.security.names, err = security.NewCertNames(&s.Config.Security); err != nil {
		return err
	}
	if s.Config.SecureClientPort != config.PortUnset || s.Config.ClientPortUnification {
		if err := s.loadKeys(); err != nil {
			return keystore.Located(fmt.Errorf("server: TLS of clients (ssl.keyStore.*, ssl.trustStore.*): %w", err),
				s.Config, "ssl.")
		}
	}
	if s.Config.SessionSecrets != "" {
		if err := s.loadSecrets(s.Config.SessionSecrets); err != nil {
			return s.Config.About(fmt.Errorf("server: session secrets: %w", err),
				"warren.sessionSecrets")
		}
	}
	return s.Config.About(s.loadUsers(), "java.security.auth.login.config", "sessionRequireClientSASLAuth",
		"enforce.auth.schemes")
}

// loadSecrets reads the secrets of session passwords.
func (s *Front) loadSecrets(name string) error {
	f, err := s.FS.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sessions.SecretsBytesMax+1))
	if err != nil {
		return err
	}
	if s.security.secrets, err = sessions.ParseSecrets(text); err != nil {
		return err
	}
	s.Log.Info("session passwords are derived from warren.sessionSecrets",
		zap.Bool("zookeeper_passwords_accepted", s.security.secrets.Guessable()))
	return nil
}

// loadKeys reads the certificates.
func (s *Front) loadKeys() error {
	keys, err := keystore.Open(s.FS, &s.Config.TLS, s.Log)
	if err != nil {
		return err
	}
	if keys.Server() == nil {
		return errNoKeyStore
	}
	s.security.keys, s.security.tls = keys, s.countHandshakes(keys.Server())
	s.exportExpiry(keys)
	if !s.Runtime.Now().Before(keys.Expires()) {
		s.Log.Error("the certificate of the client ports has expired: clients that verify it refuse to connect",
			zap.Time("expired", keys.Expires()))
	}
	s.Log.Info("TLS is on", zap.String("client_auth", s.Config.TLS.ClientAuth),
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
func (s *Front) loadUsers() error {
	required := s.requiresSASL()
	cfg := &s.Config.SASL
	if cfg.LoginConfig == "" {
		if required {
			return errNoUsers
		}
		return nil
	}
	jaas, err := security.ReadJAAS(s.FS, cfg.LoginConfig)
	if err != nil {
		return err
	}
	s.security.sasl, err = s.acceptorOf(jaas)
	switch {
	case errors.Is(err, sasl.ErrNoSection) && !required:
		level := zap.InfoLevel
		if s.Config.HasScheme(auth.SchemeSASL) || s.Config.Given("sasl.serverconfig") {
			level = zap.WarnLevel
		}
		s.Log.Log(level, "the JAAS file has no section for clients: SASL is off",
			zap.String("section", cfg.ServerSection))
		return nil
	case err != nil:
		return fmt.Errorf("server: %s: %w", cfg.LoginConfig, err)
	}
	s.Log.Info("SASL is on", zap.String("mechanism", s.security.sasl.Mechanism), zap.Bool("required", required))
	return nil
}

// acceptorOf returns how clients authenticate: by Kerberos, if the section for them says so, or by DIGEST-MD5.
func (s *Front) acceptorOf(jaas sasl.JAAS) (*sasl.Acceptor, error) {
	cfg := &s.Config.SASL
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

func (s *Front) kerberosOf(k *sasl.Kerberos) (*sasl.Acceptor, error) {
	cfg := &s.Config.SASL
	tickets := &security.Tickets{FS: s.FS, Log: s.Log, Now: s.Runtime.Now, Config: cfg.KerberosConfig}
	acceptor, err := tickets.Accept(k)
	if err != nil {
		return nil, err
	}
	realm, err := tickets.Realm()
	if err != nil {
		return nil, err
	}
	if realm == "" {
		realm = acceptor.Service().Realm
	}
	names, err := sasl.NewNames(cfg.AuthToLocal, realm, cfg.RemoveHostFromPrincipal, cfg.RemoveRealmFromPrincipal)
	if err != nil {
		return nil, err
	}
	s.Log.Info("clients authenticate with Kerberos", zap.Stringer("principal", acceptor.Service()),
		zap.String("keytab", k.Keytab))
	return sasl.NewKerberos(acceptor, names.User), nil
}

// requiresSASL reports whether clients that have not authenticated by SASL are refused.
func (s *Front) requiresSASL() bool { return slices.Contains(s.enforced, auth.SchemeSASL) }

// openAudit opens the audit log, if it is enabled.
func (s *Front) openAudit() (err error) {
	if s.Config.Audit.Enabled {
		s.security.audit, err = audit.Open(s.FS, s.Log, s.Config.Audit.File)
	}
	return err
}

// StartSecurity starts the goroutines that watch the certificates and write the audit log. It is one of the last
// steps of Start.
func (s *Front) StartSecurity() {
	if k := s.security.keys; k != nil && s.Config.ClientCertReload {
		s.Spawn("keys", func() { k.Watch(keystore.ReloadInterval, s.Stopping.Done()) })
	}
	if a := s.security.audit; a != nil {
		a.Started()
		s.Spawn("audit", func() { a.Run(s.Stopping.Done(), s.Applied.Done()) })
	}
}

// Keys are the certificates of the client ports; nil without TLS there.
func (s *Front) Keys() *keystore.Keys { return s.security.keys }

// AuditLink notes in the audit log, if there is one, that a link to a path was made.
func (s *Front) AuditLink(ids []auth.Identity, addr netip.Addr, path string) {
	if log := s.security.audit; log != nil {
		log.Link(ids, addr, path)
	}
}

// SessionIDsOpen reports whether a client that knows the id of a session can take the session over.
func (s *Front) SessionIDsOpen() bool { return s.security.secrets.Guessable() }

// Label names a session so that the name opens it to no reader: by its id if nothing can be done with that, else by
// a name that holds until the restart of the server.
func (s *Front) Label(id proto.SessionID) string {
	if !s.SessionIDsOpen() {
		return id.String()
	}
	return s.Labels.Text(id)
}

// Password returns the password of a session.
func (s *Front) Password(id proto.SessionID) [proto.PasswordSize]byte {
	return s.security.secrets.Password(id)
}

// CertIdentities returns the identities that a client's certificate proves.
func (s *Front) CertIdentities(cert *x509.Certificate) ([]auth.Identity, error) {
	return s.security.names.Identities(cert)
}

var errHandshakeLimit = errors.New(
	"too many TLS handshakes under way: netty.server.outstandingHandshake.limit is reached")

// countHandshakes returns cfg with a count of the handshakes under way. A handshake counts from the client's first
// message on: a connection that sends nothing costs no work, and takes no place from others.
func (s *Front) countHandshakes(cfg *tls.Config) *tls.Config {
	choose := cfg.GetConfigForClient
	counting := cfg.Clone()
	counting.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		below, ok := hello.Conn.(*tlsSocket)
		if ok && !below.counted {
			below.counted = true
			if n, limit := s.Metrics.TlsUnfinished.Add(1), int64(s.Config.HandshakeLimit); limit >= 0 && n > limit {
				s.Metrics.TlsExceeded.Inc()
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
func (s *Front) exportExpiry(keys *keystore.Keys) {
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_tls_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that clients are shown, or one above it, expires; renew it before.",
	}, func() float64 { return float64(keys.Expires().Unix()) }))
}

// Suffices reports whether a client with these identities may ask for anything: it has one of an enforced scheme, if
// a scheme is enforced.
func (s *Front) Suffices(ids []auth.Identity) bool {
	return len(s.enforced) == 0 ||
		slices.ContainsFunc(ids, func(id auth.Identity) bool { return slices.Contains(s.enforced, id.Scheme) })
}
