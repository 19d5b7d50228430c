package config

import (
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// diskWatermarkBytes is twice the default preallocation step: the log can grow once more when writes stop.
const diskWatermarkBytes = 128 << 20

// Default returns the settings of a server without a configuration file: standalone, on loopback, with its data
// in ./data. It is complete and valid. Warren's own.
func Default() *Config {
	c := embedded()
	c.resolve()
	return c
}

// embedded returns Default before resolve, so that settings can still be applied over it.
func embedded() *Config {
	c := base()
	c.DataDir = filepath.FromSlash("./data")
	c.ClientPort = 2181
	c.ClientPortAddress = "127.0.0.1"
	c.TickTime = 2 * time.Second
	c.Admin.Address = "127.0.0.1"
	return c
}

// base returns the meaning of an empty file: ZooKeeper's own defaults, except for purging, which is on. Values
// that depend on others stay unset until resolve. Source: operations 1.4, 1.5, 3.1 and 4.1.
func base() *Config {
	return &Config{
		Storage:  baseStorage(),
		Sessions: baseSessions(),
		Clients:  baseClients(),
		Limits:   baseLimits(),
		Quorum:   baseQuorum(),
		Security: Security{
			DigestAlg:        "SHA1",
			DigestAuth:       true,
			SSLAuthProvider:  "x509",
			X509ID:           X509ID{Type: "SUBJECT", SANType: 6, Match: ".*"},
			HandshakeLimit:   1000,
			ClientCertReload: true,
			TLS:              baseTLS(),
			FIPSMode:         true,
			SASL:             SASL{ServerSection: "Server"},
		},
		Admin: Admin{
			Enabled:             true,
			Address:             "0.0.0.0",
			Port:                8080,
			IdleTimeout:         30 * time.Second,
			CommandURL:          "/commands",
			HTTPVersion:         11,
			RateLimiterInterval: 5 * time.Minute,
			SnapshotEnabled:     true,
			RestoreEnabled:      true,
		},
		Metrics: Metrics{
			ClassName:             DefaultProvider,
			Host:                  "0.0.0.0",
			Port:                  7000,
			HTTPSPort:             PortUnset,
			NeedClientAuth:        true,
			WantClientAuth:        true,
			ExportRuntimeInfo:     true,
			SummaryRotateInterval: time.Minute,
		},
		Audit:   Audit{File: "zookeeper_audit.log"},
		Log:     Log{Level: "info", Format: "console"},
		Process: Process{Scheduling: "batch"},
		origins: map[string]position{},
		values:  map[string]string{},
	}
}

func baseStorage() Storage {
	return Storage{
		SnapCount:                  100_000,
		SnapSizeLimitKB:            4_194_304,
		PreAllocSizeKB:             65_536,
		CommitLogCount:             500,
		SnapshotSizeFactor:         0.33,
		ForceSync:                  true,
		FsyncWarningThreshold:      time.Second,
		DatadirAutocreate:          true,
		DBAutocreate:               true,
		SerializeLastProcessedZxid: true,
		DigestEnabled:              true,
		CloseSessionTxn:            true,
		MaxWriteQueuePollTime:      unset,
		MaxBatchSize:               1000,
		Autopurge:                  Autopurge{SnapRetainCount: 3, PurgeInterval: time.Hour},
		DiskWatermark:              DiskWatermark{Bytes: diskWatermarkBytes},
	}
}

func baseSessions() Sessions {
	return Sessions{
		TickTime:          3 * time.Second,
		MinSessionTimeout: unset,
		MaxSessionTimeout: unset,
		Container: Container{
			CheckInterval: time.Minute,
			MaxPerMinute:  10_000,
			MaxNeverUsed:  5 * time.Minute,
		},
	}
}

func baseClients() Clients {
	return Clients{
		ClientPort:         PortUnset,
		SecureClientPort:   PortUnset,
		ListenBacklog:      -1,
		MaxClientCnxns:     60,
		SessionlessTimeout: 10 * time.Second,
		ConnectionThrottle: ConnectionThrottle{
			FillTime:            time.Millisecond,
			FillCount:           1,
			FreezeTime:          -time.Millisecond,
			DropIncrease:        0.02,
			DropDecrease:        0.002,
			GlobalSessionWeight: 3,
			LocalSessionWeight:  1,
			RenewSessionWeight:  2,
		},
		FourLetterWhitelist: []string{"srvr"},
	}
}

func baseLimits() Limits {
	return Limits{
		JuteMaxBuffer:          0xfffff,
		GlobalOutstandingLimit: 1000,
		MaxWatches:             1_000_000,
		MaxWatchBytes:          64 << 20,
		LargeRequestMaxBytes:   100 << 20,
		LargeRequestThreshold:  -1,
		RequestThrottle: RequestThrottle{
			StallTime:            100 * time.Millisecond,
			DropStale:            true,
			StaleConnectionCheck: true,
			ShutdownTimeout:      10 * time.Second,
		},
	}
}

func baseQuorum() Quorum {
	q := Quorum{
		ServerID:                        NoServerID,
		StandaloneEnabled:               true,
		ObserverMasterSizeLimit:         32 << 20,
		SyncEnabled:                     true,
		LeaderServes:                    true,
		CnxTimeout:                      5 * time.Second,
		QuorumCnxnTimeout:               -time.Millisecond,
		ElectionPortBindRetry:           3,
		PeerTCPKeepAlive:                true,
		MinNotificationInterval:         200 * time.Millisecond,
		MaxNotificationInterval:         time.Minute,
		MaxTimeToWaitForEpoch:           -time.Millisecond,
		MaxConcurrentSnapSyncs:          10,
		MaxConcurrentDiffSyncs:          100,
		AckLoggingFrequency:             1000,
		LeaderConnectDelay:              20 * time.Millisecond,
		LeaderNoDelay:                   true,
		FollowerNoDelay:                 true,
		ObserverElectionDelay:           200 * time.Millisecond,
		MultiAddressReachabilityCheck:   true,
		MultiAddressReachabilityTimeout: time.Second,
		QuorumTLS:                       baseTLS(),
		QuorumAuth: QuorumAuth{
			LearnerLoginContext:      "QuorumLearner",
			ServerLoginContext:       "QuorumServer",
			KerberosServicePrincipal: "zkquorum/localhost",
		},
	}
	q.QuorumTLS.ClientHostnameVerification = true
	q.SSLQuorumReloadCertFiles = true
	return q
}

func baseTLS() TLS {
	return TLS{
		ClientAuth:                "need",
		HostnameVerification:      true,
		HandshakeDetectionTimeout: 5 * time.Second,
	}
}

// unset marks a duration whose default depends on another setting. No key can produce it: they count milliseconds.
const unset = time.Duration(-1)

// resolve fills in the defaults that depend on other settings. It is idempotent.
func (c *Config) resolve() {
	if c.DataLogDir == "" {
		c.DataLogDir = c.DataDir
	}
	if c.MinSessionTimeout == unset {
		c.MinSessionTimeout = 2 * c.TickTime
	}
	if c.MaxSessionTimeout == unset {
		c.MaxSessionTimeout = 20 * c.TickTime
	}
	if c.MaxWriteQueuePollTime == unset {
		c.MaxWriteQueuePollTime = c.FlushDelay / 3
	}
	if c.JuteMaxBufferExtra == 0 {
		c.JuteMaxBufferExtra = max(c.JuteMaxBuffer, 1024)
	}
	if c.ConnectToLearnerMasterLimit == 0 {
		c.ConnectToLearnerMasterLimit = c.InitLimit
	}
}

// ClientAddress returns host:port for the plain client listener, or "" if there is none.
func (c *Config) ClientAddress() string { return listenAddress(c.ClientPortAddress, c.ClientPort) }

// SecureClientAddress returns host:port for the TLS client listener, or "" if there is none.
func (c *Config) SecureClientAddress() string {
	return listenAddress(c.SecureClientPortAddress, c.SecureClientPort)
}

// AdminAddress returns host:port for the admin server, or "" if it is off.
func (c *Config) AdminAddress() string {
	if !c.Admin.Enabled {
		return ""
	}
	return listenAddress(c.Admin.Address, c.Admin.Port)
}

// MetricsAddress returns host:port for the Prometheus exporter over HTTP, or "" if another provider is configured
// or the port is off.
func (c *Config) MetricsAddress() string {
	if c.Metrics.ClassName != PrometheusProvider {
		return ""
	}
	return listenAddress(c.Metrics.Host, c.Metrics.Port)
}

func listenAddress(host string, port int) string {
	if port < 0 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
