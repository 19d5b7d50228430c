package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/keystore"
	"github.com/seed94657493/warren/server/sasl"
)

// security is what guards the client ports. It is made before the first port is opened. Its zero value is a server
// without TLS, SASL and audit log.
type security struct {
	keys  *keystore.Keys // nil without TLS
	tls   *tls.Config    // of every handshake: keys.Server() with an eye on how many there are
	users *sasl.Users    // nil without SASL
	names *certNames     // what of a certificate is an id
	audit *audit         // nil without an audit log
}

// secure loads certificates, users and the audit log.
func (s *Server) secure() error {
	if s.cfg.SessionRequireClientSASLAuth && !slices.Contains(s.enforced, datatree.SchemeSASL) {
		s.enforced = append(slices.Clone(s.enforced), datatree.SchemeSASL)
	}
	var err error
	if s.security.names, err = newCertNames(&s.cfg.Security); err != nil {
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
	if s.cfg.Distributed() {
		if err := s.secureQuorum(); err != nil {
			return err
		}
	}
	return s.openAudit()
}

// loadKeys reads the certificates.
func (s *Server) loadKeys() error {
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
// what clients must or can use. Source: operations.md section 8.4.
func (s *Server) loadUsers() error {
	required := s.requiresSASL()
	cfg := &s.cfg.SASL
	if cfg.LoginConfig == "" {
		if required {
			return errNoUsers
		}
		return nil
	}
	jaas, err := s.readJAAS()
	if err != nil {
		return err
	}
	users, err := jaas.Users(cfg.ServerSection)
	switch {
	case errors.Is(err, sasl.ErrNoSection) && !required && !s.cfg.HasScheme(datatree.SchemeSASL) && !s.cfg.Given("sasl.serverconfig"):
		s.log.Info("the JAAS file has no section for clients: SASL is off", zap.String("section", cfg.ServerSection))
		return nil
	case err != nil:
		return fmt.Errorf("server: %s: %w", cfg.LoginConfig, err)
	}
	if cfg.SuperPassword != "" {
		users = users.With(datatree.SchemeSuper, string(cfg.SuperPassword))
	}
	s.security.users = users
	s.log.Info("SASL is on", zap.String("mechanism", "DIGEST-MD5"), zap.Int("users", users.Len()), zap.Bool("required", required))
	return nil
}

// readJAAS reads the JAAS file, which also holds the sections of the servers among themselves.
func (s *Server) readJAAS() (sasl.JAAS, error) {
	name := s.cfg.SASL.LoginConfig
	f, err := s.fs.Open(name)
	if err != nil {
		return nil, fmt.Errorf("server: JAAS file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sasl.JAASBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("server: JAAS file %s: %w", name, err)
	}
	jaas, err := sasl.ParseJAAS(text)
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", name, err)
	}
	return jaas, nil
}

// requiresSASL reports whether clients that have not authenticated by SASL are refused.
func (s *Server) requiresSASL() bool { return slices.Contains(s.enforced, datatree.SchemeSASL) }

// providers is the schemes that an ACL may name. Source: operations.md section 8.1.
func (s *Server) providers() datatree.Providers {
	p := datatree.ProviderIP
	for scheme, provider := range map[string]datatree.Providers{
		datatree.SchemeDigest: datatree.ProviderDigest, datatree.SchemeSASL: datatree.ProviderSASL, datatree.SchemeX509: datatree.ProviderX509,
	} {
		if s.cfg.HasScheme(scheme) {
			p |= provider
		}
	}
	if s.cfg.X509ID.Type == certIDAlternative {
		p |= datatree.ProviderX509Names
	}
	return p
}
