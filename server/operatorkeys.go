package server

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/keystore"
)

// checkKeys loads the certificates of the admin server and of the metrics exporter. It returns a ConfigError if they
// cannot be loaded.
func (o *operators) checkKeys() error {
	if o.Config.AdminAddress() != "" {
		if _, err := o.adminKeys(); err != nil {
			return err
		}
	}
	if o.Config.Metrics.ClassName == config.PrometheusProvider && o.Config.Metrics.HTTPSPort != config.PortUnset {
		if _, err := o.exporterKeys(); err != nil {
			return err
		}
	}
	return nil
}

var (
	errAdminTLS     = errors.New("admin.needClientAuth needs admin.forceHttps or admin.portUnification")
	errAdminKeys    = errors.New("admin.forceHttps and admin.portUnification need ssl.quorum.keyStore.location")
	errExporterKeys = errors.New("metricsProvider.httpsPort needs metricsProvider.ssl.keyStore.location")
)

// adminTLS is the TLS configuration of the admin server, nil if TLS is not configured.
func (o *operators) adminTLS() (*tls.Config, error) {
	keys, err := o.adminKeys()
	if keys == nil {
		return nil, err
	}
	if o.Config.SSLQuorumReloadCertFiles {
		o.Spawn("admin keys", func() { keys.Watch(keystore.ReloadInterval, o.Stopping.Done()) })
	}
	o.keys.admin.Store(keys)
	o.facts.Shows("the certificate of the admin port", keys.Expires)
	return keys.Server(), nil
}

// adminKeys loads the keys of the admin server, nil if it speaks no TLS. The files are the quorum's; whether
// clients show certificates is a setting of its own. Source: operations 3.1.
func (o *operators) adminKeys() (*keystore.Keys, error) {
	a := &o.Config.Admin
	if !a.ForceHTTPS && !a.PortUnification {
		if a.NeedClientAuth {
			return nil, &ConfigError{Err: o.Config.About(errAdminTLS, "admin.needClientAuth")}
		}
		return nil, nil
	}
	if o.Config.QuorumTLS.KeyStore.Location == "" {
		return nil, &ConfigError{Err: o.Config.About(errAdminKeys, "admin.forceHttps",
			"admin.portUnification")}
	}
	material := o.Config.QuorumTLS
	material.ClientHostnameVerification = false // clients of the admin server are people and scrapers, not hosts
	material.ClientAuth = "none"
	if a.NeedClientAuth {
		material.ClientAuth = "need"
	}
	keys, err := keystore.Open(o.FS, &material, o.Log)
	if err != nil {
		return nil, &ConfigError{Err: keystore.Located(fmt.Errorf("the admin server: %w", err), o.Config,
			"ssl.quorum.")}
	}
	return keys, nil
}

// exporterKeys loads the certificates of the exporter.
func (o *operators) exporterKeys() (*keystore.Keys, error) {
	keys, err := keystore.Open(o.FS, exporterTLS(&o.Config.Metrics), o.Log)
	if err != nil {
		return nil, &ConfigError{Err: keystore.Located(fmt.Errorf("the metrics exporter: %w", err), o.Config,
			"metricsProvider.ssl.")}
	}
	if keys.Server() == nil {
		return nil, &ConfigError{Err: errExporterKeys}
	}
	return keys, nil
}

// exporterTLS returns the TLS settings of the exporter.
func exporterTLS(m *config.Metrics) *config.TLS {
	return &config.TLS{KeyStore: m.KeyStore, TrustStore: m.TrustStore, EnabledProtocols: m.EnabledProtocols,
		CipherSuites: m.CipherSuites, ClientAuth: clientAuth(m)}
}

// clientAuth says whether scrapers must show certificates. Without a trust store they are not asked for one that they
// need not have, because it could not be checked.
func clientAuth(m *config.Metrics) string {
	switch {
	case m.NeedClientAuth:
		return "need"
	case m.WantClientAuth && m.TrustStore.Location != "":
		return "want"
	}
	return "none"
}
