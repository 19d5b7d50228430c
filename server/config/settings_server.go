package config

import "math"

// kibMax keeps a number of KiB, multiplied out, within an int64.
const kibMax = math.MaxInt64 >> 10

func (s *Storage) settings() []setting {
	return []setting{
		nativeKey(path(&s.DataDir), "dataDir"),
		nativeKey(path(&s.DataLogDir), "dataLogDir"),
		propertyKey(atLeast(&s.SnapCount, 2), "snapCount"),
		propertyKey(offBelow(&s.SnapSizeLimitKB, kibMax), "snapSizeLimitInKb"),
		propertyKey(offBelow(&s.TxnLogSizeLimitKB, kibMax), "txnLogSizeLimitInKb"),
		propertyKey(offBelow(&s.PreAllocSizeKB, 4<<20), "preAllocSize"),
		propertyKey(atLeast(&s.CommitLogCount, 500), "commitLogCount"),
		propertyKey(syncRatio(&s.SnapshotSizeFactor), "snapshotSizeFactor"),
		propertyKey(onlyWord(&s.ForceSync, "no", false, "yes"), "forceSync"),
		bareKey(longMillis(&s.FsyncWarningThreshold, 0), "fsync.warningthresholdms"),
		propertyKey(choice(&s.SnapshotCompression, "", "gz", "snappy"), "snapshot.compression.method"),
		propertyKey(lax(&s.TrustEmptySnapshot), "snapshot.trust.empty"),
		propertyKey(lax(&s.DatadirAutocreate), "datadir.autocreate"),
		propertyKey(lax(&s.DBAutocreate), "db.autocreate"),
		propertyKey(lax(&s.SerializeLastProcessedZxid), "serializeLastProcessedZxid.enabled"),
		propertyKey(lax(&s.DigestEnabled), "digest.enabled"),
		propertyKey(lax(&s.CloseSessionTxn), "closeSessionTxn.enabled"),
		propertyKey(longMillis(&s.FlushDelay, 0), "flushDelay"),
		propertyKey(longMillis(&s.MaxWriteQueuePollTime, 0), "maxWriteQueuePollTime"),
		propertyKey(count(&s.MaxBatchSize, 1), "maxBatchSize"),
		propertyKey(lax(&s.ForceSnapshotSync), "forceSnapshotSync"),
		nativeKey(atLeast(&s.Autopurge.SnapRetainCount, 3), "autopurge.snapRetainCount"),
		nativeKey(interval(&s.Autopurge.PurgeInterval), "autopurge.purgeInterval"),
		nativeKey(whole(&s.DiskWatermark.Bytes, 0, math.MaxInt64), "warren.diskWatermarkBytes"),
		nativeKey(ratio(&s.DiskWatermark.Percent, 0, 100), "warren.diskWatermarkPercent"),
	}
}

// syncRatio reads snapshotSizeFactor: above 1 it is the default. Source: storage 15.
func syncRatio(field *float64) parser {
	p := ratio(field, -math.MaxFloat64, math.MaxFloat64)
	return parser{check: p.check, parse: func(text string) (string, error) {
		if _, err := p.parse(text); err != nil {
			return "", err
		}
		if *field > 1 {
			*field = 0.33
			return "above 1, 0.33 is used", nil
		}
		return "", nil
	}}
}

// tickMillisMax keeps 20 ticks, the default of maxSessionTimeout, within the protocol's 32 bits.
const tickMillisMax = math.MaxInt32 / 20

func (s *Sessions) settings() []setting {
	return []setting{
		nativeKey(times(&s.TickTime, millisecond, 0, tickMillisMax), "tickTime"),
		nativeKey(millisOrDefault(&s.MinSessionTimeout), "minSessionTimeout"),
		nativeKey(millisOrDefault(&s.MaxSessionTimeout), "maxSessionTimeout"),
		nativeKey(strict(&s.LocalSessionsEnabled, "localSessionsEnabled"), "localSessionsEnabled"),
		nativeKey(strict(&s.LocalSessionsUpgradingEnabled, "localSessionsUpgradingEnabled"), "localSessionsUpgradingEnabled"),
		bareKey(lax(&s.ReadOnlyMode), "readonlymode.enabled"),
		bareKey(longMillis(&s.Container.CheckInterval, 1), "znode.container.checkIntervalMs"),
		bareKey(count(&s.Container.MaxPerMinute, 1), "znode.container.maxPerMinute"),
		bareKey(longMillis(&s.Container.MaxNeverUsed, 0), "znode.container.maxNeverUsedIntervalMs"),
	}
}

func (c *Clients) settings() []setting {
	t := &c.ConnectionThrottle
	return []setting{
		nativeKey(port(&c.ClientPort), "clientPort"),
		nativeKey(bindAddress(&c.ClientPortAddress), "clientPortAddress"),
		nativeKey(port(&c.SecureClientPort), "secureClientPort"),
		nativeKey(bindAddress(&c.SecureClientPortAddress), "secureClientPortAddress"),
		propertyKey(lax(&c.ClientPortUnification), "client.portUnification"),
		nativeKey(count(&c.ListenBacklog, -1), "clientPortListenBacklog"),
		nativeKey(offBelow(&c.MaxClientCnxns, math.MaxInt32), "maxClientCnxns"),
		propertyKey(offBelow(&c.MaxCnxns, math.MaxInt32), "maxCnxns"),
		propertyKey(lax(&c.TCPKeepAlive), "clientTcpKeepAlive"),
		propertyKey(millis(&c.SessionlessTimeout, 1), "nio.sessionlessCnxnTimeout"),
		propertyKey(whitelist(&c.FourLetterWhitelist), "4lw.commands.whitelist"),
		propertyKey(offBelow(&t.Tokens, math.MaxInt32), "connection_throttle_tokens", "connectionMaxTokens"),
		propertyKey(millis(&t.FillTime, 1), "connection_throttle_fill_time", "connectionTokenFillTime"),
		propertyKey(count(&t.FillCount, 1), "connection_throttle_fill_count", "connectionTokenFillCount"),
		propertyKey(millis(&t.FreezeTime, -1), "connection_throttle_freeze_time", "connectionFreezeTime"),
		propertyKey(ratio(&t.DropIncrease, 0, 1), "connection_throttle_drop_increase", "connectionDropIncrease"),
		propertyKey(ratio(&t.DropDecrease, 0, 1), "connection_throttle_drop_decrease", "connectionDropDecrease"),
		propertyKey(ratio(&t.DecreaseRatio, 0, 1), "connection_throttle_decrease_ratio", "connectionDecreaseRatio"),
		propertyKey(lax(&t.WeightEnabled), "connection_throttle_weight_enabled"),
		propertyKey(count(&t.GlobalSessionWeight, 1), "connection_throttle_global_session_weight"),
		propertyKey(count(&t.LocalSessionWeight, 1), "connection_throttle_local_session_weight"),
		propertyKey(count(&t.RenewSessionWeight, 1), "connection_throttle_renew_session_weight"),
	}
}

// requestBytesMax bounds jute.maxbuffer, so that with the extra size it still fits the frame's signed length.
const requestBytesMax = 1 << 30

func (l *Limits) settings() []setting {
	t := &l.RequestThrottle
	return []setting{
		bareKey(whole(&l.JuteMaxBuffer, 1, requestBytesMax), "jute.maxbuffer"),
		bareKey(extraSize(&l.JuteMaxBufferExtra), "jute.maxbuffer.extrasize"),
		propertyKey(atLeast(&l.GlobalOutstandingLimit, 1), "globalOutstandingLimit"),
		nativeKey(offBelow(&l.MaxWatches, math.MaxInt32), "warren.maxWatches"),
		nativeKey(offBelow(&l.MaxWatchBytes, math.MaxInt64), "warren.maxWatchBytes"),
		nativeKey(offBelow(&l.MaxRequestsPerSecond, math.MaxInt32), "warren.maxRequestsPerSecond"),
		propertyKey(whole(&l.LargeRequestMaxBytes, 1, math.MaxInt64), "largeRequestMaxBytes"),
		propertyKey(whole(&l.LargeRequestThreshold, -1, math.MaxInt32), "largeRequestThreshold"),
		propertyKey(offBelow(&t.MaxRequests, math.MaxInt32), "request_throttle_max_requests", "requestThrottleLimit"),
		propertyKey(millis(&t.StallTime, 1), "request_throttle_stall_time", "requestThrottleStallTime"),
		propertyKey(lax(&t.DropStale), "request_throttle_drop_stale", "requestThrottleDropStale"),
		propertyKey(lax(&t.StaleLatencyCheck), "request_stale_latency_check", "requestStaleLatencyCheck"),
		propertyKey(lax(&t.StaleConnectionCheck), "request_stale_connection_check", "requestStaleConnectionCheck"),
		propertyKey(millis(&t.ShutdownTimeout, 0), "request_throttler.shutdownTimeout"),
		propertyKey(millis(&l.ThrottledOpWaitTime, 0), "throttled_op_wait_time", "throttledOpWaitTime"),
		propertyKey(lax(&l.EnforceQuota), "enforceQuota"),
		propertyKey(lax(&l.ExtendedTypes), "extendedTypesEnabled"),
		propertyKey(lax(&l.Emulate353TTLNodes), "emulate353TTLNodes"),
		propertyKey(lax(&l.EagerACLCheck), "enableEagerACLCheck"),
	}
}

// extraSize reads jute.maxbuffer.extrasize, which is at least 1024. Source: storage 15.
func extraSize(field *int) parser {
	hi := whole(field, 0, requestBytesMax)
	low := atLeast(field, 1024)
	return parser{check: hi.check, parse: func(text string) (string, error) {
		before := *field
		warning, err := low.parse(text)
		if err == nil {
			err = hi.check()
		}
		if err != nil {
			*field = before
		}
		return warning, err
	}}
}
