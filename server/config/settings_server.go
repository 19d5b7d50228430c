package config

import (
	"math"
	"time"
)

// kibMax keeps a number of KiB, multiplied out, within an int64.
const kibMax = math.MaxInt64 >> 10

// diskWatermarkBytes is twice the default preallocation step: the log can grow once more when writes stop.
const diskWatermarkBytes = 128 << 20

func (s *Storage) settings() []setting {
	return []setting{
		nativeKey(path(&s.DataDir), "dataDir"),
		nativeKey(path(&s.DataLogDir), "dataLogDir"),
		propertyKey(atLeast(&s.SnapCount, 100_000, 2), "snapCount"),
		propertyKey(offBelow(&s.SnapSizeLimitKB, 4_194_304, kibMax), "snapSizeLimitInKb"),
		propertyKey(offBelow(&s.TxnLogSizeLimitKB, 0, kibMax), "txnLogSizeLimitInKb"),
		propertyKey(offBelow(&s.PreAllocSizeKB, 65_536, 4<<20), "preAllocSize"),
		propertyKey(atLeast(&s.CommitLogCount, 500, 500), "commitLogCount"),
		propertyKey(syncRatio(&s.SnapshotSizeFactor), "snapshotSizeFactor"),
		propertyKey(onlyWord(&s.ForceSync, "no", false, "yes"), "forceSync"),
		bareKey(longMillis(&s.FsyncWarningThreshold, time.Second, 0), "fsync.warningthresholdms"),
		propertyKey(choice(&s.SnapshotCompression, "", "gz", "snappy"), "snapshot.compression.method"),
		propertyKey(lax(&s.TrustEmptySnapshot, false), "snapshot.trust.empty"),
		propertyKey(lax(&s.DatadirAutocreate, true), "datadir.autocreate"),
		propertyKey(lax(&s.DBAutocreate, true), "db.autocreate"),
		propertyKey(lax(&s.SerializeLastProcessedZxid, true), "serializeLastProcessedZxid.enabled"),
		propertyKey(lax(&s.DigestEnabled, true), "digest.enabled"),
		propertyKey(lax(&s.CloseSessionTxn, true), "closeSessionTxn.enabled"),
		propertyKey(longMillis(&s.FlushDelay, 0, 0), "flushDelay"),
		propertyKey(longMillis(&s.MaxWriteQueuePollTime, unset, 0), "maxWriteQueuePollTime"),
		propertyKey(count(&s.MaxBatchSize, 1000, 1), "maxBatchSize"),
		propertyKey(lax(&s.ForceSnapshotSync, false), "forceSnapshotSync"),
		nativeKey(atLeast(&s.Autopurge.SnapRetainCount, 3, 3), "autopurge.snapRetainCount"),
		nativeKey(interval(&s.Autopurge.PurgeInterval, time.Hour), "autopurge.purgeInterval"),
		nativeKey(whole(&s.DiskWatermark.Bytes, diskWatermarkBytes, 0, math.MaxInt64), "warren.diskWatermarkBytes"),
		nativeKey(ratio(&s.DiskWatermark.Percent, 0, 0, 100), "warren.diskWatermarkPercent"),
	}
}

// syncRatio reads snapshotSizeFactor: above 1 it is the default. Source: storage 15.
func syncRatio(field *float64) parser {
	const def = 0.33
	p := ratio(field, def, -math.MaxFloat64, math.MaxFloat64)
	read := p.parse
	p.parse = func(text string) (string, error) {
		if _, err := read(text); err != nil {
			return "", err
		}
		if *field > 1 {
			*field = def
			return "above 1, 0.33 is used", nil
		}
		return "", nil
	}
	return p
}

// tickMillisMax keeps 20 ticks, the default of maxSessionTimeout, within the protocol's 32 bits.
const tickMillisMax = math.MaxInt32 / 20

func (s *Sessions) settings() []setting {
	return []setting{
		nativeKey(times(&s.TickTime, 3*time.Second, time.Millisecond, 0, tickMillisMax), "tickTime"),
		nativeKey(millisOrDefault(&s.MinSessionTimeout), "minSessionTimeout"),
		nativeKey(millisOrDefault(&s.MaxSessionTimeout), "maxSessionTimeout"),
		strictKey(&s.LocalSessionsEnabled, false, "localSessionsEnabled"),
		strictKey(&s.LocalSessionsUpgradingEnabled, false, "localSessionsUpgradingEnabled"),
		bareKey(lax(&s.ReadOnlyMode, false), "readonlymode.enabled"),
		bareKey(longMillis(&s.Container.CheckInterval, time.Minute, 1), "znode.container.checkIntervalMs"),
		bareKey(count(&s.Container.MaxPerMinute, 10_000, 1), "znode.container.maxPerMinute"),
		bareKey(longMillis(&s.Container.MaxNeverUsed, 5*time.Minute, 0), "znode.container.maxNeverUsedIntervalMs"),
	}
}

func (c *Clients) settings() []setting {
	t := &c.ConnectionThrottle
	return []setting{
		nativeKey(port(&c.ClientPort, PortUnset), "clientPort"),
		nativeKey(bindAddress(&c.ClientPortAddress, ""), "clientPortAddress"),
		nativeKey(port(&c.SecureClientPort, PortUnset), "secureClientPort"),
		nativeKey(bindAddress(&c.SecureClientPortAddress, ""), "secureClientPortAddress"),
		propertyKey(lax(&c.ClientPortUnification, false), "client.portUnification"),
		nativeKey(count(&c.ListenBacklog, -1, -1), "clientPortListenBacklog"),
		nativeKey(offBelow(&c.MaxClientCnxns, 60, math.MaxInt32), "maxClientCnxns"),
		propertyKey(offBelow(&c.MaxCnxns, 0, math.MaxInt32), "maxCnxns"),
		propertyKey(lax(&c.TCPKeepAlive, false), "clientTcpKeepAlive"),
		propertyKey(millis(&c.SessionlessTimeout, 10*time.Second, 1), "nio.sessionlessCnxnTimeout"),
		nativeKey(millis(&c.ConnectWait, time.Second, 0), "warren.connect.wait"),
		nativeKey(millis(&c.ConnectionKeep, 2*time.Second, 0), "warren.connection.keep"),
		propertyKey(whitelist(&c.FourLetterWhitelist), "4lw.commands.whitelist"),
		propertyKey(offBelow(&t.Tokens, 0, math.MaxInt32), "connection_throttle_tokens", "connectionMaxTokens"),
		propertyKey(millis(&t.FillTime, time.Millisecond, 1), "connection_throttle_fill_time",
			"connectionTokenFillTime"),
		propertyKey(count(&t.FillCount, 1, 1), "connection_throttle_fill_count", "connectionTokenFillCount"),
		propertyKey(millis(&t.FreezeTime, -time.Millisecond, -1), "connection_throttle_freeze_time",
			"connectionFreezeTime"),
		propertyKey(ratio(&t.DropIncrease, 0.02, 0, 1), "connection_throttle_drop_increase", "connectionDropIncrease"),
		propertyKey(ratio(&t.DropDecrease, 0.002, 0, 1), "connection_throttle_drop_decrease",
			"connectionDropDecrease"),
		propertyKey(ratio(&t.DecreaseRatio, 0, 0, 1), "connection_throttle_decrease_ratio", "connectionDecreaseRatio"),
		propertyKey(lax(&t.WeightEnabled, false), "connection_throttle_weight_enabled"),
		propertyKey(count(&t.GlobalSessionWeight, 3, 1), "connection_throttle_global_session_weight"),
		propertyKey(count(&t.LocalSessionWeight, 1, 1), "connection_throttle_local_session_weight"),
		propertyKey(count(&t.RenewSessionWeight, 2, 1), "connection_throttle_renew_session_weight"),
	}
}

// requestBytesMax bounds jute.maxbuffer, so that with the extra size it still fits the frame's signed length.
const requestBytesMax = 1 << 30

func (l *Limits) settings() []setting {
	t := &l.RequestThrottle
	return []setting{
		bareKey(whole(&l.JuteMaxBuffer, 0xfffff, 1, requestBytesMax), "jute.maxbuffer"),
		bareKey(extraSize(&l.JuteMaxBufferExtra), "jute.maxbuffer.extrasize"),
		propertyKey(atLeast(&l.GlobalOutstandingLimit, 1000, 1), "globalOutstandingLimit"),
		nativeKey(offBelow(&l.MaxWatches, 1_000_000, math.MaxInt32), "warren.maxWatches"),
		nativeKey(offBelow(&l.MaxWatchBytes, 64<<20, math.MaxInt64), "warren.maxWatchBytes"),
		nativeKey(offBelow(&l.MaxWatchMemory, 1<<30, math.MaxInt64), "warren.maxWatchMemory"),
		nativeKey(offBelow(&l.MaxRequestsPerSecond, 0, math.MaxInt32), "warren.maxRequestsPerSecond"),
		propertyKey(whole(&l.LargeRequestMaxBytes, 100<<20, 1, math.MaxInt64), "largeRequestMaxBytes"),
		propertyKey(whole(&l.LargeRequestThreshold, -1, -1, math.MaxInt32), "largeRequestThreshold"),
		propertyKey(offBelow(&t.MaxRequests, 0, math.MaxInt32), "request_throttle_max_requests",
			"requestThrottleLimit"),
		propertyKey(millis(&t.StallTime, 100*time.Millisecond, 1), "request_throttle_stall_time",
			"requestThrottleStallTime"),
		propertyKey(lax(&t.DropStale, true), "request_throttle_drop_stale", "requestThrottleDropStale"),
		propertyKey(lax(&t.StaleLatencyCheck, false), "request_stale_latency_check", "requestStaleLatencyCheck"),
		propertyKey(lax(&t.StaleConnectionCheck, true), "request_stale_connection_check",
			"requestStaleConnectionCheck"),
		propertyKey(millis(&t.ShutdownTimeout, 10*time.Second, 0), "request_throttler.shutdownTimeout"),
		propertyKey(millis(&l.ThrottledOpWaitTime, 0, 0), "throttled_op_wait_time", "throttledOpWaitTime"),
		propertyKey(lax(&l.EnforceQuota, false), "enforceQuota"),
		propertyKey(lax(&l.ExtendedTypes, false), "extendedTypesEnabled"),
		propertyKey(lax(&l.Emulate353TTLNodes, false), "emulate353TTLNodes"),
		propertyKey(lax(&l.EagerACLCheck, false), "enableEagerACLCheck"),
	}
}

// extraSize reads jute.maxbuffer.extrasize, which is at least 1024; 0 is the default that resolve fills in. Source:
// storage 15.
func extraSize(field *int) parser { return raising(whole(field, 0, 0, requestBytesMax), field, 1024) }
