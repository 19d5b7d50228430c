package command

import (
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
	refuse(cfg.Distributed() && (cfg.SSLQuorum || cfg.PortUnification), "sslQuorum, portUnification: this version does not encrypt between servers")
	refuse(cfg.Distributed() && cfg.QuorumAuth.EnableSASL, "quorum.auth.enableSasl: this version does not authenticate between servers")
	if len(refused) > 0 {
		return refused
	}
	var without []string
	note := func(when bool, setting string) {
		if when {
			without = append(without, setting)
		}
	}
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
