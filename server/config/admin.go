package config

import "time"

// Admin is the admin server. Source: operations 3.1.
type Admin struct {
	// Enabled starts the admin server. Only the word "false" turns it off. Key admin.enableServer; default true.
	Enabled bool
	// Address is the host or address to bind. Key admin.serverAddress; default 0.0.0.0 with a file, 127.0.0.1
	// without one.
	Address string
	// Port is the port of the admin server. Key admin.serverPort; default 8080.
	Port int
	// IdleTimeout is when idle connections are closed. Key admin.idleTimeout; default 30s, also for 0.
	IdleTimeout time.Duration
	// CommandURL is the prefix of the commands. Key admin.commandURL; default /commands.
	CommandURL string
	// HTTPVersion is the version of HTTP: 10, 11 or 20. Key admin.httpVersion; default 11.
	HTTPVersion int
	// PortUnification serves HTTP and HTTPS on one port. Key admin.portUnification; default false.
	PortUnification bool
	// ForceHTTPS serves HTTPS only. Key admin.forceHttps; default false.
	ForceHTTPS bool
	// NeedClientAuth asks for a client certificate. Key admin.needClientAuth; default false.
	NeedClientAuth bool
	// RateLimiterInterval is the minimum time between two snapshots, and between two restores. Key
	// admin.rateLimiterIntervalInMS; default 5m.
	RateLimiterInterval time.Duration
	// SnapshotEnabled offers the command snapshot. Key admin.snapshot.enabled; default true.
	SnapshotEnabled bool
	// RestoreEnabled offers the command restore. Key admin.restore.enabled; default true.
	RestoreEnabled bool
	// PProf serves the profiles of the Go runtime at /debug/pprof/. Key warren.pprof; default false. Warren's own.
	PProf bool
	// Console serves the console at /console/, its API at /api/v1 and the documentation at /docs/. Key
	// warren.console.enabled; default true. Warren's own.
	Console bool
	// ConsoleWrites lets visitors of the console and of its API change znodes after a login, as far as ACLs allow it.
	// Key warren.console.writes; default false. Warren's own.
	ConsoleWrites bool
	// ConsoleLinks lets visitors of the console with a login make links that show znodes at and below a path, which
	// they may read, without a login for at most 24 hours. Key warren.console.links; default false. Warren's own.
	ConsoleLinks bool
	// ConsoleName is what the console calls this ensemble, such as production. Key warren.console.name; default none:
	// the console has the address at which it is visited. Warren's own.
	ConsoleName string
	// ConsoleEnsembles are other ensembles that the console shows beside this one, as name=http://host:port of the
	// admin server of one of their servers, separated by commas. Key warren.console.ensembles; default none. Warren's
	// own.
	ConsoleEnsembles []string
	// ConsoleBackups are folders with backups that warren backup makes, separated by commas: the console tells what
	// they hold and how old they are. Key warren.console.backups; default none. Warren's own.
	ConsoleBackups []string
	// Top counts which paths, sessions, addresses and operations cause most of the requests, bytes and time, for the
	// command top, /api/v1/top and warren top. Key warren.top.enabled; default false. Warren's own.
	Top bool
}

// The metrics providers that metricsProvider.className can name.
const (
	DefaultProvider    = "org.apache.zookeeper.metrics.impl.DefaultMetricsProvider"
	NullProvider       = "org.apache.zookeeper.metrics.impl.NullMetricsProvider"
	PrometheusProvider = "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider"
)

// The values of Metrics.NamesStyle.
const (
	NamesOf39   = "3.9"
	NamesOf310  = "3.10"
	NamesOfBoth = "both"
)

// Metrics is the metrics provider. Source: operations 4.1.
type Metrics struct {
	// ClassName is the Java class of the provider: that of 3.8, DefaultMetricsProvider, which exports nothing on a
	// port of its own, or org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider, which does. Key
	// metricsProvider.className; default org.apache.zookeeper.metrics.impl.DefaultMetricsProvider.
	ClassName string
	// Host is the host or address to bind. Key metricsProvider.httpHost; default 0.0.0.0.
	Host string
	// Port is the HTTP port of the exporter. Key metricsProvider.httpPort; default 7000.
	Port int
	// HTTPSPort is the HTTPS port of the exporter; equal to Port: both on one. Key metricsProvider.httpsPort;
	// default none.
	HTTPSPort int
	// KeyStore is the exporter's own key and chain. Keys metricsProvider.ssl.keyStore.*.
	KeyStore Store
	// TrustStore is the store of the certificates that scrapers are checked against. Keys
	// metricsProvider.ssl.trustStore.*.
	TrustStore Store
	// NeedClientAuth refuses scrapers without a certificate. Key metricsProvider.ssl.need.client.auth; default true.
	NeedClientAuth bool
	// WantClientAuth asks scrapers for a certificate. Key metricsProvider.ssl.want.client.auth; default true.
	WantClientAuth bool
	// EnabledProtocols are the versions of TLS. Key metricsProvider.ssl.enabledProtocols; default 1.2 and 1.3.
	EnabledProtocols []string
	// CipherSuites are the cipher suites, by their names in Java; without it, Go's defaults. Key
	// metricsProvider.ssl.ciphersuites; default none.
	CipherSuites []string
	// NamesStyle says how the exporter names counters: 3.9 as that version of ZooKeeper, 3.10 with _total at the end,
	// both. Key metricsProvider.namesStyle, ours; default 3.9.
	NamesStyle string
	// ExportRuntimeInfo adds the metrics of the Go runtime and of the process. Key metricsProvider.exportJvmInfo;
	// default true.
	ExportRuntimeInfo bool
	// SummaryRotateInterval is the age of the values in a summary. Key
	// metricsProvider.prometheusMetricsSummaryRotateIntervalSeconds; default 60s.
	SummaryRotateInterval time.Duration
}

// Audit is the audit log. Source: operations 7.1.
type Audit struct {
	// Enabled writes the audit log. Key audit.enable; default false.
	Enabled bool
	// File is the file of the audit log, "-" for standard output. Key audit.file; default zookeeper_audit.log.
	// Warren's own.
	File string
	// ImplClass is the Java class of the logger. Key audit.impl.class; it is accepted and has no effect.
	ImplClass string
}

// Log is the server's own log. Warren's own.
type Log struct {
	// Level is the lowest level that is written: debug, info, warn or error. Key warren.logLevel; default info. It is
	// read again when the process gets SIGHUP.
	Level string
	// Format is the form of the lines: console or json. Key warren.logFormat; default console.
	Format string
}

// Process is what the server requests from the operating system for itself. Warren's own.
type Process struct {
	// Scheduling is "batch" or "normal": whether a server thread that wakes up waits for the running thread, or
	// interrupts it. Key warren.scheduling; default batch, which takes far less processor time for a request on a
	// busy machine. With normal, a client with few requests waits less on a machine whose processors other
	// processes keep busy all the time. Linux only. A policy that was chosen with chrt or in a systemd unit
	// stays.
	Scheduling string
}
