package words

import (
	"crypto/tls"
	"fmt"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/keystore"
)

// CheckKeys loads the certificates of the admin server and of the metrics exporter. It returns a ConfigError if they
// cannot be loaded.
func (s *Reporter) CheckKeys() error {
	if s.Config.AdminAddress() != "" {
		if _, err := s.adminKeys(); err != nil {
			return err
		}
	}
	if s.Config.Metrics.ClassName == config.PrometheusProvider && s.Config.Metrics.HTTPSPort != config.PortUnset {
		if _, err := s.exporterKeys(); err != nil {
			return err
		}
	}
	return nil
}

// adminTLS is the TLS configuration of the admin server, nil if TLS is not configured. The key files are those of
// the quorum. Whether clients must show certificates is a separate setting. Source: operations 3.1.
func (s *Reporter) adminTLS() (*tls.Config, error) {
	keys, err := s.adminKeys()
	if keys == nil {
		return nil, err
	}
	if s.Config.SSLQuorumReloadCertFiles {
		s.Spawn("admin keys", func() { keys.Watch(keystore.ReloadInterval, s.Stopping.Done()) })
	}
	s.keys.admin.Store(keys)
	return keys.Server(), nil
}

// adminKeys loads the keys of the admin server, nil if it speaks no TLS. The files are the quorum's; whether
// clients show certificates is a setting of its own. Source: operations 3.1.
func (s *Reporter) adminKeys() (*keystore.Keys, error) {
	a := &s.Config.Admin
	if !a.ForceHTTPS && !a.PortUnification {
		if a.NeedClientAuth {
			return nil, &env.ConfigError{Err: errAdminTLS}
		}
		return nil, nil
	}
	if s.Config.QuorumTLS.KeyStore.Location == "" {
		return nil, &env.ConfigError{Err: errAdminKeys}
	}
	material := s.Config.QuorumTLS
	material.ClientHostnameVerification = false // clients of the admin server are people and scrapers, not hosts
	material.ClientAuth = "none"
	if a.NeedClientAuth {
		material.ClientAuth = "need"
	}
	keys, err := keystore.Open(s.FS, &material, s.Log)
	if err != nil {
		return nil, &env.ConfigError{Err: fmt.Errorf("the admin server: %w", err)}
	}
	return keys, nil
}

// Keys returns the keys of the admin server and of the metrics exporter; nil without TLS.
func (s *Reporter) Keys() (admin, exporter *keystore.Keys) {
	return s.keys.admin.Load(), s.keys.exporter.Load()
}

// certified returns the identity of the certificate that a client of the admin server has shown.
func (s *Reporter) certified(c admin.Credentials) ([]auth.Identity, bool) {
	if c.Certificate == nil || !s.Config.Admin.NeedClientAuth {
		return nil, false
	}
	ids, err := s.front.CertIdentities(c.Certificate)
	return ids, err == nil
}

// InsecureConnection implements admin.Node.
func (n AdminNode) InsecureConnection() { n.Metrics.InsecureAdmin.Inc() }
