package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// adminKeys writes the key stores of a server. It returns a function that configures them, and the authority.
func adminKeys(t *testing.T) (*pki.CA, func(*config.Config)) {
	t.Helper()
	ca, dir := pki.NewCA("admin"), t.TempDir()
	key, trust := filepath.Join(dir, "key.pem"), filepath.Join(dir, "trust.pem")
	require.NoError(t, os.WriteFile(key, ca.Issue(pki.Options{Hosts: []string{"localhost", "127.0.0.1"}}).PEM(),
		0o600))
	require.NoError(t, os.WriteFile(trust, ca.PEM(), 0o600))
	return ca, func(cfg *config.Config) {
		cfg.QuorumTLS.KeyStore.Location, cfg.QuorumTLS.TrustStore.Location = key, trust
	}
}

// secureClient trusts ca and shows the certificate of leaf, if there is one.
func secureClient(ca *pki.CA, leaf *pki.Leaf) *http.Client {
	cfg := &tls.Config{RootCAs: x509.NewCertPool()}
	cfg.RootCAs.AddCert(ca.Cert)
	if leaf != nil {
		cfg.Certificates = []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}}
}

func TestAdminOverTLS(t *testing.T) {
	ca, keys := adminKeys(t)
	for name, c := range map[string]struct {
		set   func(*config.Admin)
		plain bool
	}{
		"forced":  {func(a *config.Admin) { a.ForceHTTPS, a.PortUnification = true, true }, false},
		"unified": {func(a *config.Admin) { a.PortUnification = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withAdmin(t, func(cfg *config.Config) { keys(cfg); c.set(&cfg.Admin) })
			resp := must.Do(secureClient(ca, nil).Get("https://" + s.AdminAddr().String() + "/metrics"))(t)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			resp.Body.Close()
			resp, err := secureClient(ca, nil).Get("http://" + s.AdminAddr().String() + "/commands/monitor")
			if err == nil {
				defer resp.Body.Close()
				require.Equal(t, c.plain, resp.StatusCode == http.StatusOK)
			} else {
				require.False(t, c.plain, "%v", err)
			}
			if c.plain {
				require.Contains(t, string(must.ReadAll(t, resp.Body)), "\"insecure_admin_count\" : 1,")
			}
		})
	}
}

// With admin.needClientAuth no client connects without a certificate, and the scheme x509 takes its identity from
// the certificate.
func TestAdminAsksForCertificates(t *testing.T) {
	ca, keys := adminKeys(t)
	s, c := withAdmin(t, func(cfg *config.Config) {
		keys(cfg)
		cfg.Admin.ForceHTTPS, cfg.Admin.NeedClientAuth, cfg.Admin.RateLimiterInterval = true, true, 0
		cfg.X509SuperUser = "CN=root"
	})
	c.MustSetACL(t, "/", []proto.ACL{{Perms: proto.PermAll,
		Id: proto.ID{Scheme: proto.Text("digest"), Id: proto.Text("a:b")}}}, -1)
	url := "https://" + s.AdminAddr().String() + "/commands/snapshot"
	require.Error(t, must.Err(secureClient(ca, nil).Get(url)))
	for name, want := range map[string]int{"root": http.StatusOK, "somebody": http.StatusForbidden} {
		r := must.Do(http.NewRequest(http.MethodGet, url, nil))(t)
		r.Header.Set("Authorization", "x509")
		resp := must.Do(secureClient(ca, ca.Issue(pki.Options{Name: name})).Do(r))(t)
		must.Do(io.Copy(io.Discard, resp.Body))(t)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, name)
	}
}

func TestAdminRefusesTLSWithoutKeys(t *testing.T) {
	_, keys := adminKeys(t)
	for name, set := range map[string]func(*config.Config){
		"forced":  func(c *config.Config) { c.Admin.ForceHTTPS = true },
		"unified": func(c *config.Config) { c.Admin.PortUnification = true },
		"certificates without TLS": func(c *config.Config) {
			keys(c)
			c.Admin.NeedClientAuth = true
		},
		"no such file": func(c *config.Config) {
			keys(c)
			c.QuorumTLS.KeyStore.Location += ".missing"
			c.Admin.ForceHTTPS = true
		},
	} {
		cfg := testConfig(t)
		cfg.Admin.Enabled, cfg.Admin.Port = true, 0
		set(cfg)
		var refused *server.ConfigError
		require.ErrorAs(t, server.New(cfg, server.Options{}).Start(), &refused, name)
		require.Equal(t, 2, refused.ExitCode())
	}
}
