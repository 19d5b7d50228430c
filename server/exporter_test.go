package server

import (
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// With an HTTPS port there is an HTTP port only if it is configured. Equal numbers mean one port for both.
func TestExporterPorts(t *testing.T) {
	type ports []struct {
		port       int
		plain, tls bool
	}
	for text, want := range map[string]ports{
		"":                                 {{7000, true, false}},
		"metricsProvider.httpPort=7001\n":  {{7001, true, false}},
		"metricsProvider.httpsPort=7002\n": {{7002, false, true}},
		"metricsProvider.httpsPort=7000\n": {{7000, true, true}},
		"metricsProvider.httpPort=7001\nmetricsProvider.httpsPort=7002\n": {{7001, true, false}, {7002, false, true}},
		"metricsProvider.httpPort=7001\nmetricsProvider.httpsPort=7001\n": {{7001, true, true}},
		"metricsProvider.httpPort=-1\nmetricsProvider.httpsPort=7002\n":   {{7002, false, true}},
	} {
		s := New(memConfig(), Options{})
		s.Config = config.Default()
		if text != "" {
			dir := t.TempDir()
			name := filepath.Join(dir, "zoo.cfg")
			require.NoError(t,
				os.WriteFile(name,
					[]byte("dataDir="+dir+"\nclientPort=0\nmetricsProvider.ssl.keyStore.location=k.pem\n"+text),
					0o600))
			file := must.Do(os.Open(name))(t)
			s.Config, _ = must.Do2(config.Parse(file, name))(t)
			require.NoError(t, file.Close())
		}
		s.Config.Metrics.ClassName = config.PrometheusProvider
		var got ports
		for _, p := range s.ops.exporterPorts() {
			got = append(got, ports{{p.Port, p.plain, p.tls}}...)
		}
		require.Equal(t, want, got, text)
	}
}

// newSecureExporter returns a server, not started, with an exporter that has the keys of ca.
func newSecureExporter(t *testing.T, ca *pki.CA, set func(*config.Metrics)) *Server {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = filepath.Join(dir, "data"), filepath.Join(dir, "data")
	cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled, cfg.PreAllocSizeKB = 0, "127.0.0.1", false, 0
	m := &cfg.Metrics
	m.ClassName, m.Host, m.Port, m.HTTPSPort = config.PrometheusProvider, "127.0.0.1", 0, 0
	m.KeyStore.Location, m.TrustStore.Location = filepath.Join(dir, "key.pem"), filepath.Join(dir, "trust.pem")
	require.NoError(t, os.WriteFile(m.KeyStore.Location, ca.Issue(pki.Options{Hosts: []string{"127.0.0.1"}}).PEM(),
		0o600))
	require.NoError(t, os.WriteFile(m.TrustStore.Location, ca.PEM(), 0o600))
	set(m)
	return New(cfg, Options{Meta: meta.NewMem(1)})
}

// secureExporter starts a server with an exporter over TLS.
func secureExporter(t *testing.T, ca *pki.CA, set func(*config.Metrics)) *Server {
	t.Helper()
	s := newSecureExporter(t, ca, set)
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	return s
}

func TestExporterOverTLS(t *testing.T) {
	ca := pki.NewCA("exporter")
	scrape := func(s *Server, scheme string, leaf *pki.Leaf) (int, error) {
		secure := &tls.Config{RootCAs: x509.NewCertPool()}
		secure.RootCAs.AddCert(ca.Cert)
		if leaf != nil {
			secure.Certificates = []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}}
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
		resp, err := client.Get(scheme + "://" + s.ops.exportAt.String() + "/metrics")
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	known := ca.Issue(pki.Options{Name: "scraper"})
	s := secureExporter(t, ca, func(*config.Metrics) {})
	code := must.Do(scrape(s, "https", known))(t)
	require.Equal(t, http.StatusOK, code)
	require.Error(t, must.Err(scrape(s, "https", nil)), "certificates are asked for by default")
	code = must.Do(scrape(s, "http", nil))(t)
	require.Equal(t, http.StatusOK, code, "both on one port")

	s = secureExporter(t, ca, func(m *config.Metrics) { m.Port, m.NeedClientAuth = config.PortUnset, false })
	code = must.Do(scrape(s, "https", nil))(t)
	require.Equal(t, http.StatusOK, code)
	code, err := scrape(s, "http", nil)
	require.False(t, err == nil && code == http.StatusOK, "HTTPS only")

	s = secureExporter(t, ca, func(m *config.Metrics) { m.NeedClientAuth, m.TrustStore.Location = false, "" })
	code, err = scrape(s, "https", nil)
	require.NoError(t, err, "a trust store is for certificates that scrapers must have")
	require.Equal(t, http.StatusOK, code)
}

// A renewed certificate of the exporter is used without a restart.
func TestExporterKeysAreReloaded(t *testing.T) {
	ca := pki.NewCA("exporter")
	s := secureExporter(t, ca, func(m *config.Metrics) { m.NeedClientAuth = false })
	serial := func() *big.Int {
		c := must.Do(tls.Dial("tcp", s.ops.exportAt.String(), &tls.Config{InsecureSkipVerify: true}))(t)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber
	}
	first := serial()
	next := ca.Issue(pki.Options{Hosts: []string{"127.0.0.1"}})
	require.NotEqual(t, first, next.Cert.SerialNumber)
	require.NoError(t, os.WriteFile(s.Config.Metrics.KeyStore.Location, next.PEM(), 0o600))
	require.NoError(t, s.ReloadCertificates())
	require.Equal(t, next.Cert.SerialNumber, serial())
	require.NoError(t, os.WriteFile(s.Config.Metrics.KeyStore.Location, []byte("no key"), 0o600))
	require.Error(t, s.ReloadCertificates())
	require.Equal(t, next.Cert.SerialNumber, serial(), "what there was stays in use")
}

// An exporter that cannot start keeps the server from starting, before it has taken a client. Otherwise no operator
// would notice that the server is not monitored.
func TestExporterThatCannotStartEndsTheNode(t *testing.T) {
	taken := must.Listen(t)
	s := newSecureExporter(t, pki.NewCA("exporter"),
		func(m *config.Metrics) { m.Port, m.HTTPSPort = taken.Addr().(*net.TCPAddr).Port, config.PortUnset })
	var refused *MetricsError
	require.ErrorAs(t, s.Start(), &refused)
	require.Equal(t, 14, refused.ExitCode(), "as of a client port")
	require.Nil(t, s.Addr())
	for name, set := range map[string]func(*config.Metrics){
		"no such file": func(m *config.Metrics) { m.KeyStore.Location += ".missing" },
		"no key store": func(m *config.Metrics) { m.KeyStore.Location = "" },
	} {
		var wrong *ConfigError
		require.ErrorAs(t, newSecureExporter(t, pki.NewCA("exporter"), set).Start(), &wrong, name)
	}
}
