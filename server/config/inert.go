package config

import (
	"reflect"
	"slices"
	"strings"
)

// inert are settings that are read and checked and that this version does not act on: what they tune is not there, or works without
// them. Whoever sets one to something else than its default is told.
var inert = []string{
	"flushDelay", "maxWriteQueuePollTime", "maxBatchSize", "txnLogSizeLimitInKb", "serializeLastProcessedZxid.enabled", "closeSessionTxn.enabled",
	"jute.maxbuffer.extrasize", "emulate353TTLNodes", "enableEagerACLCheck", "connection_throttle_local_session_weight",
	"request_throttle_drop_stale", "request_stale_latency_check", "request_stale_connection_check", "request_throttler.shutdownTimeout",
	"observerMasterPort", "observerMaster.sizeLimit", "observer.syncEnabled", "observer.reconnectDelayMs", "observer.election.DelayMs",
	"quorumCnxnTimeoutMs", "tcpKeepAlive", "leader.nodelay", "follower.nodelay", "leader.maxTimeToWaitForEpoch", "leader.maxConcurrentSnapSyncs",
	"leader.maxConcurrentDiffSyncs", "leader.ackLoggingFrequency", "leaderConnectDelayDuringRetryMs", "multiAddress.reachabilityCheckEnabled",
	"multiAddress.reachabilityCheckTimeoutMs", "oraclePath", "admin.httpVersion", "metricsProvider.prometheusMetricsSummaryRotateIntervalSeconds",
	"kerberos.removeHostFromPrincipal", "kerberos.removeRealmFromPrincipal", "security.auth_to_local", "quorum.auth.kerberos.servicePrincipal",
}

// warnInert adds one warning about the inert settings that are not at their defaults.
func (l *loader) warnInert() {
	var without []string
	for _, s := range l.c.settings() {
		if value, given := l.c.values[s.name()]; given && slices.Contains(inert, s.name()) && changesDefault(s.name(), value) {
			without = append(without, s.name())
		}
	}
	if len(without) > 0 {
		l.warn(position{}, "", "settings that this version does not act on: "+strings.Join(without, ", "))
	}
}

// changesDefault reports whether the value of a key differs from what it would be without it.
func changesDefault(key, value string) bool {
	c, fresh := base(), base()
	for _, s := range c.settings() {
		if s.name() == key {
			_, _ = s.parse(value) // what is wrong with it has been told
		}
	}
	return !reflect.DeepEqual(c, fresh)
}
