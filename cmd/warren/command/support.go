package command

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
)

// warnUnsupported warns of settings that this version reads but does not act on.
func warnUnsupported(cfg *config.Config, log *zap.Logger) {
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
}
