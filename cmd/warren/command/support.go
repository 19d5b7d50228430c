package command

import (
	"fmt"
	"strings"

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
	refuse(cfg.SecureClientPort != config.PortUnset, "secureClientPort: this version does not serve TLS")
	refuse(cfg.ClientPortUnification, "client.portUnification: this version does not serve TLS")
	refuse(cfg.Metrics.ClassName == config.PrometheusProvider && cfg.Metrics.HTTPSPort != config.PortUnset,
		"metricsProvider.httpsPort: this version does not serve TLS")
	refuse(!isSHA1(cfg.DigestAlg), "DigestAuthenticationProvider.digestAlg: this version hashes digest ids with SHA1 only")
	refuse(cfg.SessionRequireClientSASLAuth, "sessionRequireClientSASLAuth: this version has no SASL")
	for _, p := range cfg.AuthProviders {
		refuse(p.Scheme == "sasl" || p.Scheme == "x509" || p.Scheme == "ensemble",
			fmt.Sprintf("authProvider.%s: this version has no scheme %s", p.Suffix, p.Scheme))
	}
	if len(refused) > 0 {
		return refused
	}
	var without []string
	note := func(when bool, setting string) {
		if when {
			without = append(without, setting)
		}
	}
	note(cfg.Audit.Enabled, "audit.enable")
	note(cfg.ReconfigEnabled, "reconfigEnabled")
	note(cfg.FlushDelay > 0, "flushDelay")
	note(cfg.TxnLogSizeLimitKB > 0, "txnLogSizeLimitInKb")
	note(!cfg.CloseSessionTxn, "closeSessionTxn.enabled")
	note(!cfg.SerializeLastProcessedZxid, "serializeLastProcessedZxid.enabled")
	note(cfg.Emulate353TTLNodes, "emulate353TTLNodes")
	note(cfg.RequestThrottle.StaleLatencyCheck, "request_stale_latency_check")
	if len(without) > 0 {
		log.Warn("settings that this version does not act on", zap.Strings("keys", without))
	}
	return nil
}

// isSHA1 reports whether name is one of Java's for SHA-1.
func isSHA1(name string) bool {
	return strings.EqualFold(name, "SHA1") || strings.EqualFold(name, "SHA-1") || strings.EqualFold(name, "SHA")
}
