package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/sasl"
)

// clientSecurity is what guards the client ports. It is made before the first port is opened. Its zero value is a
// server without TLS, SASL and audit log.
type clientSecurity struct {
	keys  *keystore.Keys      // nil without TLS
	tls   *tls.Config         // of every handshake: keys.Server() with an eye on how many there are
	users *sasl.Users         // nil without SASL
	names *security.CertNames // what of a certificate is an id
	audit *audit.Log          // nil without an audit log
}

// secure loads certificates, users and the audit log.
func (s *front) secure() error {
	if s.cfg.SessionRequireClientSASLAuth && !slices.Contains(s.enforced, auth.SchemeSASL) {
		s.enforced = append(slices.Clone(s.enforced), auth.SchemeSASL)
	}
	var err error
	if s.security.names, err = security.NewCertNames(&s.cfg.Security); err != nil {
		return err
	}
	if s.cfg.SecureClientPort != config.PortUnset || s.cfg.ClientPortUnification {
		if err := s.loadKeys(); err != nil {
			return err
		}
	}
	if err := s.loadUsers(); err != nil {
		return err
	}
	return s.openAudit()
}

// loadKeys reads the certificates.
func (s *front) loadKeys() error {
	keys, err := keystore.Open(s.fs, &s.cfg.TLS, s.log)
	if err != nil {
		return err
	}
	if keys.Server() == nil {
		return errNoKeyStore
	}
	s.security.keys, s.security.tls = keys, s.countHandshakes(keys.Server())
	s.exportExpiry(keys)
	if !time.Now().Before(keys.Expires()) {
		s.log.Error("the certificate of the client ports has expired: clients that check it do not connect", zap.Time("expired", keys.Expires()))
	}
	s.log.Info("TLS is on", zap.String("client_auth", s.cfg.TLS.ClientAuth), zap.Time("certificate_expires", keys.Expires()))
	return nil
}

var (
	errNoKeyStore = errors.New("server: ssl.keyStore.location is not set, but a port serves TLS")
	errNoUsers    = errors.New("server: clients must authenticate by SASL and no JAAS file has a section for it: " +
		"set java.security.auth.login.config")
)

// loadUsers reads the JAAS file, if there is one. A file without our section is for the other servers alone, unless SASL is
// what clients must or can use. Source: operations 8.4.
func (s *front) loadUsers() error {
	required := s.requiresSASL()
	cfg := &s.cfg.SASL
	if cfg.LoginConfig == "" {
		if required {
			return errNoUsers
		}
		return nil
	}
	jaas, err := security.ReadJAAS(s.fs, cfg.LoginConfig)
	if err != nil {
		return err
	}
	users, err := jaas.Users(cfg.ServerSection)
	switch {
	case errors.Is(err, sasl.ErrNoSection) && !required && !s.cfg.HasScheme(auth.SchemeSASL) &&
		!s.cfg.Given("sasl.serverconfig"):
		s.log.Info("the JAAS file has no section for clients: SASL is off", zap.String("section", cfg.ServerSection))
		return nil
	case err != nil:
		return fmt.Errorf("server: %s: %w", cfg.LoginConfig, err)
	}
	if cfg.SuperPassword != "" {
		users = users.With(auth.SchemeSuper, string(cfg.SuperPassword))
	}
	s.security.users = users
	s.log.Info("SASL is on", zap.String("mechanism", "DIGEST-MD5"), zap.Int("users", users.Len()), zap.Bool("required", required))
	return nil
}

// requiresSASL reports whether clients that have not authenticated by SASL are refused.
func (s *front) requiresSASL() bool { return slices.Contains(s.enforced, auth.SchemeSASL) }

// openAudit opens the audit log, if it is wanted.
func (s *front) openAudit() (err error) {
	if s.cfg.Audit.Enabled {
		s.security.audit, err = audit.Open(s.fs, s.log, s.cfg.Audit.File)
	}
	return err
}

// startSecurity starts what watches the certificates and writes the audit log. It is the last step of Start.
func (s *front) startSecurity() {
	if k := s.security.keys; k != nil && s.cfg.ClientCertReload {
		s.start("keys", func() { k.Watch(keystore.ReloadInterval, s.stopping.Done()) })
	}
	if a := s.security.audit; a != nil {
		a.Started()
		s.start("audit", func() { a.Run(s.stopping.Done(), s.applied.Done()) })
	}
}
