package words

import (
	"crypto/tls"
	"time"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/internal/keystore"
)

// adminTLS is the TLS configuration of the admin server, nil if TLS is not configured. The key files are those of
// the quorum. Whether clients must show certificates is a separate setting. Source: operations 3.1.
func (s *Reporter) adminTLS() (*tls.Config, error) {
	a := &s.Config.Admin
	if !a.ForceHTTPS && !a.PortUnification {
		if a.NeedClientAuth {
			return nil, errAdminTLS
		}
		return nil, nil
	}
	if s.Config.QuorumTLS.KeyStore.Location == "" {
		return nil, errAdminKeys
	}
	material := s.Config.QuorumTLS
	material.ClientHostnameVerification = false // clients of the admin server are people and scrapers, not hosts
	material.ClientAuth = "none"
	if a.NeedClientAuth {
		material.ClientAuth = "need"
	}
	keys, err := keystore.Open(s.FS, &material, s.Log)
	if err != nil {
		return nil, err
	}
	if s.Config.SSLQuorumReloadCertFiles {
		s.Spawn("admin keys", func() { keys.Watch(adminKeysInterval, s.Stopping.Done()) })
	}
	return keys.Server(), nil
}

// adminKeysInterval is how often the key files of the admin server are checked for changes.
const adminKeysInterval = 5 * time.Second

// certified returns the identity of the certificate that a client of the admin server has shown.
func (s *Reporter) certified(c admin.Credentials) ([]auth.Identity, bool) {
	if c.Certificate == nil || !s.Config.Admin.NeedClientAuth {
		return nil, false
	}
	ids, err := s.front.Security.Names.Identities(c.Certificate)
	return ids, err == nil
}

// InsecureConnection implements admin.Node.
func (n AdminNode) InsecureConnection() { n.Metrics.InsecureAdmin.Inc() }
