package config

import "time"

// PortUnset is the value of a port setting that was not given. Port 0 is different: it asks the system
// for any free port.
const PortUnset = -1

// Config is every setting of one server, with defaults filled in and derived values resolved.
//
// The embedded areas only group the fields; names are unique across them. The zero value is not
// usable: start from Default, Parse or Load. A Config is not changed after it was loaded, so any number of goroutines
// may read it.
type Config struct {
	// File is the name of the static configuration file, empty for the embedded defaults.
	File string
	// Text is the file as it was read, which the admin command initial_configuration returns.
	Text []byte

	Storage
	Sessions
	Clients
	Limits
	Quorum
	Security

	// Admin is the admin server with the JSON commands.
	Admin Admin
	// Metrics is the metrics provider and its exporter.
	Metrics Metrics
	// Audit is the audit log.
	Audit Audit
	// Log is the log of the server.
	Log Log
	// Trace is where the time of operations goes: the log of slow ones, and traces.
	Trace Trace
	// Process is what the server requests from the operating system for itself.
	Process Process

	// origins has the place where each setting was given, by canonical key, for the messages of Validate.
	origins map[string]position
	// values has the text of each setting as it was written, by the same key.
	values map[string]string
}

// Storage holds the settings of the files: their bytes, and when they become durable. Source: storage 15.
type Storage struct {
	// DataDir holds snapshots, myid and the epoch files, in version-2. Key dataDir; required in a file, ./data
	// without one.
	DataDir string
	// DataLogDir holds the txn log, in version-2. Key dataLogDir; default DataDir.
	DataLogDir string
	// SnapCount is the number of txns after which, at the latest, a snapshot is taken; the server picks a random point
	// between half of it and all of it. Key snapCount; default 100000, at least 2.
	SnapCount int
	// SnapSizeLimitKB is the size of the log since the last snapshot at which, at the latest, the next one is taken.
	// Key snapSizeLimitInKb; default 4194304, zero and less are off.
	SnapSizeLimitKB int64
	// TxnLogSizeLimitKB is the size at which a log file is followed by a new one, whether or not a snapshot is due;
	// 0 is off. Space that is only preallocated does not count. Key txnLogSizeLimitInKb; default off.
	TxnLogSizeLimitKB int64
	// PreAllocSizeKB is the step by which log files grow; 0 is no preallocation. Key preAllocSize; default 65536.
	PreAllocSizeKB int64
	// CommitLogCount is the number of committed txns kept in memory, from which a learner that is only a little behind
	// is brought up to date. Key commitLogCount; default 500, also the minimum.
	CommitLogCount int
	// SnapshotSizeFactor is how much of the log may be sent to a learner instead of a snapshot, as a share of the
	// snapshot's size; negative is off. Key snapshotSizeFactor; default 0.33, also for values above 1.
	SnapshotSizeFactor float64
	// ForceSync makes every batch durable before it is acknowledged. Only the word "no" turns it off. Key forceSync;
	// default yes.
	ForceSync bool
	// FsyncWarningThreshold is how long one sync may take before a warning is logged. Key fsync.warningthresholdms;
	// default 1s.
	FsyncWarningThreshold time.Duration
	// SnapshotCompression is how snapshots are compressed: not at all, gz or snappy. All three are read, whatever is
	// set. Key snapshot.compression.method; default none.
	SnapshotCompression string
	// TrustEmptySnapshot permits a start with a log but without a snapshot. Key snapshot.trust.empty; default false.
	TrustEmptySnapshot bool
	// DatadirAutocreate creates a missing version-2. Key datadir.autocreate; default true.
	DatadirAutocreate bool
	// DBAutocreate accepts an empty data directory; false accepts one only together with a file named initialize. Key
	// db.autocreate; default true.
	DBAutocreate bool
	// SerializeLastProcessedZxid writes the last zxid at the end of a snapshot, as 3.9 does; false makes the admin
	// command snapshot fail. Key serializeLastProcessedZxid.enabled; default true.
	SerializeLastProcessedZxid bool
	// DigestEnabled writes the digest of the tree into txns and snapshots. Key digest.enabled; default true.
	DigestEnabled bool
	// CloseSessionTxn lists the ephemerals in the closeSession txn. With false each server finds them in its own
	// tree; that is for ensembles with servers up to 3.5. A server understands both forms, whatever is set. Key
	// closeSessionTxn.enabled; default true.
	CloseSessionTxn bool
	// FlushDelay holds a batch back so that more txns share its sync. Key flushDelay; default 0.
	FlushDelay time.Duration
	// MaxWriteQueuePollTime is how long an idle log waits before it flushes anyway. Key maxWriteQueuePollTime;
	// default FlushDelay/3.
	MaxWriteQueuePollTime time.Duration
	// MaxBatchSize is the number of txns that are synced without waiting for FlushDelay. Key maxBatchSize;
	// default 1000.
	MaxBatchSize int
	// ForceSnapshotSync always sends a learner a snapshot; for tests. Key forceSnapshotSync; default false.
	ForceSnapshotSync bool
	// Autopurge removes old snapshots and the logs that only they need.
	Autopurge Autopurge
	// DiskWatermark refuses writes before the disk is full. Warren's own.
	DiskWatermark DiskWatermark
}

// Autopurge says which snapshots are kept and how often the others are removed.
type Autopurge struct {
	// SnapRetainCount is the number of snapshots kept. Key autopurge.snapRetainCount; default 3, also the minimum.
	SnapRetainCount int
	// PurgeInterval is the time between two runs, the first of which is at the start; 0 is off. The number may have a
	// suffix ms, s, m, h or d. ZooKeeper's default is off, with which disks fill up. Key autopurge.purgeInterval;
	// default 1h.
	PurgeInterval time.Duration
}

// DiskWatermark is the free space below which writes are refused with NotReadOnly while reads go on. The larger
// of the two limits counts. It applies to the file systems of DataDir and DataLogDir.
type DiskWatermark struct {
	// Bytes is the least free space, in bytes; 0 is off. Key warren.diskWatermarkBytes; default 128 MiB.
	Bytes int64
	// Percent is the least free space in percent of the file system; 0 is off. Key warren.diskWatermarkPercent;
	// default 0.
	Percent float64
}

// Sessions holds times: ticks, session timeouts, and the reaping of containers.
type Sessions struct {
	// TickTime is the basic unit of time. Key tickTime, in ms; default 3s with a file and 2s without one.
	TickTime time.Duration
	// MinSessionTimeout is the shortest timeout that is granted. Key minSessionTimeout; default 2 ticks, also for -1.
	MinSessionTimeout time.Duration
	// MaxSessionTimeout is the longest timeout that is granted. Key maxSessionTimeout; default 20 ticks, also for -1.
	MaxSessionTimeout time.Duration
	// LocalSessionsEnabled keeps new sessions on the server that accepted them. Key localSessionsEnabled; default
	// false.
	LocalSessionsEnabled bool
	// LocalSessionsUpgradingEnabled makes a local session global at its first ephemeral. Key
	// localSessionsUpgradingEnabled; default false.
	LocalSessionsUpgradingEnabled bool
	// ReadOnlyMode serves read-only clients without a quorum. Key readonlymode.enabled; default false.
	ReadOnlyMode bool
	// Container is the reaper of container and TTL znodes.
	Container Container
}

// Container is the reaper of container and TTL znodes.
type Container struct {
	// CheckInterval is the time between two scans. Key znode.container.checkIntervalMs; default 1m.
	CheckInterval time.Duration
	// MaxPerMinute is the number of deletions a minute. Key znode.container.maxPerMinute; default 10000.
	MaxPerMinute int
	// MaxNeverUsed is the age at which a container that never had a child is deleted; 0 is never. Key
	// znode.container.maxNeverUsedIntervalMs; default 5m.
	MaxNeverUsed time.Duration
}

// Clients holds the client listeners and the limits on connections.
type Clients struct {
	// ClientPort is the plain client port, 0 for any free one, PortUnset for none. The part after the semicolon of
	// this server's line says the same. Key clientPort; default 2181 without a file.
	ClientPort int
	// ClientPortAddress is the host or address to bind, empty for all. Key clientPortAddress; default 127.0.0.1
	// without a file.
	ClientPortAddress string
	// SecureClientPort is the TLS client port, or PortUnset. Key secureClientPort.
	SecureClientPort int
	// SecureClientPortAddress is the host or address to bind, empty for all. Key secureClientPortAddress.
	SecureClientPortAddress string
	// ClientPortUnification accepts TLS and plain clients on ClientPort. Key client.portUnification; default false.
	ClientPortUnification bool
	// ListenBacklog is the backlog of listen(2), -1 for the system's. Key clientPortListenBacklog; default -1.
	ListenBacklog int
	// MaxClientCnxns is how many connections one address may have; 0 is unlimited. Key maxClientCnxns; default 60.
	MaxClientCnxns int
	// MaxCnxns is how many connections this server may have; 0 is unlimited. Key maxCnxns; default 0.
	MaxCnxns int
	// TCPKeepAlive sets SO_KEEPALIVE on client sockets. Key clientTcpKeepAlive; default false.
	TCPKeepAlive bool
	// SessionlessTimeout is when a connection is closed that has not asked for a session. Key
	// nio.sessionlessCnxnTimeout; default 10s.
	SessionlessTimeout time.Duration
	// ConnectWait is how long a client that connects in the middle of an election waits for its end before it is
	// refused; 0 refuses at once, as ZooKeeper does. Key warren.connect.wait, in ms; default 1s. Warren's own.
	ConnectWait time.Duration
	// ConnectionKeep is how long a server that has lost its leader keeps the connections of its clients until it has
	// one again, at most a third of the session timeout; 0 closes them at once, as ZooKeeper does. Key
	// warren.connection.keep, in ms; default 2s. Warren's own.
	ConnectionKeep time.Duration
	// ConnectionThrottle is the token bucket for new sessions.
	ConnectionThrottle ConnectionThrottle
	// FourLetterWhitelist are the four-letter words that are executed; "*" is all. srvr is always among them, isro
	// with ReadOnlyMode, and fact, held and task, by which servers ask each other, for this host and those of the
	// ensemble. Key 4lw.commands.whitelist; default srvr.
	FourLetterWhitelist []string
}

// ConnectionThrottle is the token bucket for new sessions, with the optional random drops (BLUE). Source:
// server-semantics 11.2.
type ConnectionThrottle struct {
	// Tokens is the size of the bucket; 0 is off. Key connection_throttle_tokens (connectionMaxTokens); default 0.
	Tokens int
	// FillTime is the time between two fills. Key connection_throttle_fill_time (connectionTokenFillTime);
	// default 1ms.
	FillTime time.Duration
	// FillCount is how many tokens one fill adds. Key connection_throttle_fill_count (connectionTokenFillCount);
	// default 1.
	FillCount int
	// FreezeTime is the time between two changes of the drop probability; negative: no drops. Key
	// connection_throttle_freeze_time (connectionFreezeTime); default -1ms.
	FreezeTime time.Duration
	// DropIncrease is added to the probability when the bucket is empty. Key connection_throttle_drop_increase
	// (connectionDropIncrease); default 0.02.
	DropIncrease float64
	// DropDecrease is subtracted when it is not empty. Key connection_throttle_drop_decrease
	// (connectionDropDecrease); default 0.002.
	DropDecrease float64
	// DecreaseRatio is the share of tokens in use below which the probability falls. Key
	// connection_throttle_decrease_ratio (connectionDecreaseRatio); default 0.
	DecreaseRatio float64
	// WeightEnabled makes sessions cost the weights below instead of one token each. Key
	// connection_throttle_weight_enabled; default false.
	WeightEnabled bool
	// GlobalSessionWeight is the cost of a global session. Key connection_throttle_global_session_weight; default 3.
	GlobalSessionWeight int
	// LocalSessionWeight is the cost of a local session. Key connection_throttle_local_session_weight; default 1.
	LocalSessionWeight int
	// RenewSessionWeight is the cost of a reconnect. Key connection_throttle_renew_session_weight; default 2.
	RenewSessionWeight int
}

// Limits bounds requests, and switches features of requests.
type Limits struct {
	// JuteMaxBuffer is the largest request in bytes. Key jute.maxbuffer; default 1048575.
	JuteMaxBuffer int
	// JuteMaxBufferExtra is by how many bytes the txn of a request may be larger than the largest request. ACL
	// entries of scheme auth make it larger, and ZooKeeper cannot read larger ones back. Key
	// jute.maxbuffer.extrasize; default JuteMaxBuffer, at least 1024.
	JuteMaxBufferExtra int
	// GlobalOutstandingLimit is the number of requests in progress above which busy connections are not read
	// from; a member of an ensemble with more than two voters uses it divided by (voters - 1). Key
	// globalOutstandingLimit; default 1000.
	GlobalOutstandingLimit int
	// MaxWatches is how many watches one connection may hold; 0 is unlimited. A read or addWatch that would
	// exceed it is answered with ThrottledOp, and a client that brings more from another server is not served.
	// Key warren.maxWatches; default 1000000.
	MaxWatches int
	// MaxWatchBytes is how many bytes the paths that one connection watches may have together; 0 is unlimited. At the
	// limit the server does what it does at MaxWatches. Key warren.maxWatchBytes; default 64 MiB.
	MaxWatchBytes int64
	// MaxWatchMemory is how many bytes of memory all watches of the server may take; 0 is unlimited. They never take
	// more than a quarter of the memory that the process may have, unless this is 0. A connection may take at most an
	// eighth of what is left, so that one with few watches has room beside others with very many. At the limit the
	// server does what it does at MaxWatches. Key warren.maxWatchMemory; default 1 GiB.
	MaxWatchMemory int64
	// MaxRequestsPerSecond is how many requests a second the connections from one address may send together,
	// connects included; 0 is unlimited. Above it the server does not read from them: no request is refused, but
	// the clients become slower. Key warren.maxRequestsPerSecond; default 0.
	MaxRequestsPerSecond int
	// LargeRequestMaxBytes is the sum of bytes of large requests in flight. Key largeRequestMaxBytes; default 100
	// MiB.
	LargeRequestMaxBytes int64
	// LargeRequestThreshold is the size in bytes from which a request is large; negative is off. Key
	// largeRequestThreshold; default -1.
	LargeRequestThreshold int64
	// RequestThrottle stalls the pipeline.
	RequestThrottle RequestThrottle
	// ThrottledOpWaitTime is how long a request may wait; then it is answered with ThrottledOp. 0 is off. Key
	// throttled_op_wait_time (throttledOpWaitTime); default 0.
	ThrottledOpWaitTime time.Duration
	// EnforceQuota refuses writes above a hard quota. Key enforceQuota; default false.
	EnforceQuota bool
	// ExtendedTypes permits TTL znodes. Key extendedTypesEnabled; default false.
	ExtendedTypes bool
	// Emulate353TTLNodes reads and writes TTL owners as 3.5.3 did. Key emulate353TTLNodes; default false.
	Emulate353TTLNodes bool
	// EagerACLCheck makes a learner refuse a write that its own state forbids, without asking the leader, if the
	// session has no other in flight. Key enableEagerACLCheck; default false.
	EagerACLCheck bool
}

// RequestThrottle stalls the pipeline when too many requests are in it. Source: server-semantics 6.3.
type RequestThrottle struct {
	// MaxRequests is the number of requests in the pipeline before it stalls; 0 is off. Key
	// request_throttle_max_requests (requestThrottleLimit); default 0.
	MaxRequests int
	// StallTime is how long one stall lasts at most. Key request_throttle_stall_time (requestThrottleStallTime);
	// default 100ms.
	StallTime time.Duration
	// DropStale drops stale requests instead of queueing them. Key request_throttle_drop_stale
	// (requestThrottleDropStale); default true.
	DropStale bool
	// StaleLatencyCheck calls requests older than the session timeout stale. Key request_stale_latency_check
	// (requestStaleLatencyCheck); default false.
	StaleLatencyCheck bool
	// StaleConnectionCheck calls requests of closed connections stale. Key request_stale_connection_check
	// (requestStaleConnectionCheck); default true.
	StaleConnectionCheck bool
	// ShutdownTimeout is how long a stop waits for the pipeline. Key request_throttler.shutdownTimeout; default 10s.
	ShutdownTimeout time.Duration
}
