package command

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
)

// checkSupported refuses a configuration whose meaning this version cannot keep, and warns of settings that it reads but
// does not act on. A server that silently left out encryption, authentication or its ensemble would be worse than none.
func checkSupported(cfg *config.Config, log *zap.Logger) error {
	var refused config.Problems
	refuse := func(when bool, what string) {
		if when {
			refused = append(refused, &config.Problem{File: cfg.File, Rule: what, Code: config.ExitInvalid})
		}
	}
	refuse(cfg.Distributed(), fmt.Sprintf("this version runs standalone servers only, not one of an ensemble of %d", len(cfg.Members)))
	refuse(cfg.SecureClientPort != config.PortUnset, "secureClientPort: this version does not serve TLS")
	refuse(cfg.ClientPortUnification, "client.portUnification: this version does not serve TLS")
	refuse(cfg.Metrics.ClassName == config.PrometheusProvider && cfg.Metrics.HTTPSPort != config.PortUnset,
		"metricsProvider.httpsPort: this version does not serve TLS")
	refuse(cfg.SessionRequireClientSASLAuth, "sessionRequireClientSASLAuth: this version has no SASL")
	for _, p := range cfg.AuthProviders {
		refuse(p.Scheme == "sasl" || p.Scheme == "x509" || p.Scheme == "ensemble",
			fmt.Sprintf("authProvider.%s: this version has no scheme %s", p.Suffix, p.Scheme))
	}
	if len(refused) > 0 {
		return refused
	}
	without := func(when bool, what string) {
		if when {
			log.Warn("not supported by this version", zap.String("setting", what))
		}
	}
	without(cfg.Audit.Enabled, "audit.enable")
	without(cfg.LocalSessionsEnabled, "localSessionsEnabled")
	without(cfg.ReconfigEnabled, "reconfigEnabled")
	return nil
}
