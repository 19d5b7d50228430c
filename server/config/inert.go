package config

import "strings"

const sharedSync = "txns share a sync because they arrive while the previous sync is under way"

// inert are settings, by name and with the reason, that are read and checked but have no effect in this version.
// If one is set to a value other than its default there is a warning.
var inert = map[string]string{
	"flushDelay":                              sharedSync,
	"maxWriteQueuePollTime":                   sharedSync,
	"maxBatchSize":                            sharedSync,
	"emulate353TTLNodes":                      "data of 3.5.3 itself must be converted there",
	"request_throttle_drop_stale":             "requests wait in the sockets, none in a throttler",
	"request_stale_latency_check":             "requests wait in the sockets, none in a throttler",
	"request_stale_connection_check":          "requests wait in the sockets, none in a throttler",
	"request_throttler.shutdownTimeout":       "a stop answers all that was received",
	"observer.syncEnabled":                    "observers always keep a log",
	"multiAddress.reachabilityCheckEnabled":   "the first address that answers is taken",
	"multiAddress.reachabilityCheckTimeoutMs": "the first address that answers is taken",
	"oraclePath":                              "two servers need both",
	"admin.httpVersion":                       "clients choose between HTTP/1.1 and 1.0",
	"metricsProvider.prometheusMetricsSummaryRotateIntervalSeconds": "summaries are of the whole life of the server",
}

// warnInert adds one warning about the inert settings that are not at their defaults.
func (l *loader) warnInert() {
	var without []string
	usual := base().settings()
	for i, s := range l.c.settings() {
		if _, ok := inert[s.name()]; ok && s.show() != usual[i].show() {
			without = append(without, s.name())
		}
	}
	if len(without) > 0 {
		l.warn(position{}, "", "settings that this version does not act on: "+strings.Join(without, ", "))
	}
}
