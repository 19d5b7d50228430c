package env

import (
	"net/netip"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/figures"
)

// Metrics are the server's metrics. Those that ZooKeeper has keep its names, and mntr prints them. Warren's own
// have the prefix warren_. A metric of ZooKeeper's for something that this server does not do is left out, so that
// no operator takes a constant for a measurement.
type Metrics struct {
	Quorum *figures.Quorum

	connectionRequests *figures.Counter
	ConnectionRejected *figures.Counter
	ConnectionDropped  *figures.Counter
	RevalidateCount    *figures.Counter
	Sessionless        *figures.Counter
	StaleSessions      *figures.Counter
	NotRunning         *figures.Counter
	DigestMismatches   *figures.Counter
	unrecoverable      *figures.Counter
	ThrottledOps       *figures.Counter
	ThrottleWaits      *figures.Counter
	ThrottleTime       *figures.Summary
	tokenDeficit       *figures.Summary
	LargeRejected      *figures.Counter
	RateWaits          prometheus.Counter
	ConnectWaits       prometheus.Counter
	QuotaExceeded      *figures.CounterSet
	SnapshotErrors     *figures.Counter
	SnapshotRefused    *figures.Counter
	restoreErrors      *figures.Counter
	RestoreRefused     *figures.Counter
	restoreTime        *figures.Summary
	watchers           [4]*figures.Summary // by the type of the event, less one
	Pauses             *figures.Pauses

	// TLS. Every port that accepts TLS connections adds to these.
	TlsFailed     *figures.Counter // handshakes that failed
	TlsExceeded   *figures.Counter // connections closed because of netty.server.outstandingHandshake.limit
	TlsUnfinished atomic.Int64     // handshakes that have begun and not ended
	InsecureAdmin *figures.Counter // admin connections without TLS on a port that has it

	EnsembleSuccess, EnsembleFail, EnsembleSkip *figures.Counter // of the scheme ensemble

	// These are not shown among the counters.
	AuthFailed  figures.Counter
	SlowSyncs   figures.Counter
	PurgeErrors figures.Counter // purges that failed
	PlainLocal  figures.Counter // connections without TLS from this host
	PlainRemote figures.Counter // and from others

	ttlCreated, ttlDeleted *figures.Counter

	WalBytes          prometheus.Counter
	WalTxns           prometheus.Counter
	WalSync           prometheus.Histogram
	SnapshotTime      *snapshotTimes
	ContainersDeleted prometheus.Counter
	RefusedDiskFull   prometheus.Counter
	// refused counts connections that were closed instead of getting a session, by the reason.
	refused map[Refusal]*atomic.Int64
}

// snapshotTimes are the times of the snapshots that were written. It knows which errors came before the last one.
type snapshotTimes struct {
	prometheus.Histogram
	errors *figures.Counter // snapshots that could not be written
	before atomic.Int64     // of them, when the last one was written
}

// Observe takes the time of a snapshot that was written just now.
func (s *snapshotTimes) Observe(seconds float64) {
	s.before.Store(s.errors.Total())
	s.Histogram.Observe(seconds)
}

// SnapshotsFail reports whether the last snapshot could not be written.
func (m *Metrics) SnapshotsFail() bool {
	return m.SnapshotErrors.Total() > m.SnapshotTime.before.Load()
}

// Refusal is why a connection was closed instead of getting a session: the label of a metric.
type Refusal string

// The reasons.
const (
	RefusedByAddress     Refusal = "maxClientCnxns"
	RefusedByLimit       Refusal = "maxCnxns"
	RefusedByDescriptors Refusal = "descriptors" // files and other servers need the last file descriptors
	RefusedByRate        Refusal = "rate"        // the connection throttle
	RefusedByDrain       Refusal = "drain"       // an operator drains the server
	RefusedByDisk        Refusal = "disk"        // no session can be written
	RefusedAhead         Refusal = "ahead"       // the client has seen a later zxid
	RefusedReadOnly      Refusal = "read-only"   // and the client has not asked for that
)

var refusals = []Refusal{RefusedByAddress, RefusedByLimit, RefusedByDescriptors, RefusedByRate, RefusedByDrain,
	RefusedByDisk, RefusedAhead, RefusedReadOnly}

// Refuse counts a connection that is refused. The limits, and the throttle, count in ZooKeeper's metric as well.
func (m *Metrics) Refuse(why Refusal) {
	m.refused[why].Add(1)
	switch why {
	case RefusedByAddress, RefusedByLimit, RefusedByDescriptors, RefusedByRate:
		m.ConnectionRejected.Inc()
	}
}

// Refused is how many connections were refused for a reason.
type Refused struct {
	Why   Refusal
	Count int64
}

// Refusals are all reasons for which connections can be refused, with their numbers since the start.
func (m *Metrics) Refusals() (all []Refused) {
	for _, why := range refusals {
		all = append(all, Refused{why, m.refused[why].Load()})
	}
	return all
}

func newMetrics(e *Env) *Metrics {
	c := &e.Stats.Metrics
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	style := e.Config.Metrics.NamesStyle
	c.Names = figures.Names{Of39: style != config.NamesOf310,
		Of310: style == config.NamesOf310 || style == config.NamesOfBoth}
	m := &Metrics{
		Quorum: figures.NewQuorum(c),

		connectionRequests: c.Counter("connection_request_count", "Requests to begin or resume a session."),
		ConnectionRejected: c.Counter("connection_rejected",
			"Connections refused because of a limit or of the connection throttle."),
		ConnectionDropped: c.Counter("connection_drop_count",
			"Connections that clients ended without closing the session."),
		RevalidateCount: c.Counter("connection_revalidate_count", "Attempts to resume a session."),
		Sessionless: c.Counter("sessionless_connections_expired",
			"Connections closed because they never asked for a session."),
		StaleSessions: c.Counter("stale_sessions_expired", "Sessions expired."),
		NotRunning: c.Counter("cnxn_closed_without_zk_server_running",
			"Connections closed because the server was not serving."),
		DigestMismatches: c.Counter("digest_mismatches_count",
			"Txns after which the tree's digest was not the expected one: an alarm."),
		unrecoverable: c.Counter("unrecoverable_error_count", "Errors that end the server."),
		ThrottledOps:  c.Counter("throttled_ops", "Writes answered ThrottledOp because they waited too long."),
		ThrottleWaits: c.Counter("request_throttle_wait_count",
			"Times a connection was held back by request_throttle_max_requests."),
		ThrottleTime: c.Advanced("request_throttle_queue_time_ms", "Time that a connection was held back, ms."),
		tokenDeficit: c.Basic("connection_token_deficit",
			"Tokens missing in the connection throttle when a session is asked for."),
		LargeRejected: c.Counter("large_requests_rejected", "Requests refused because of largeRequestMaxBytes."),
		QuotaExceeded: c.CounterSet("quota_exceeded_error_per_namespace",
			"Writes refused because of a hard quota, by the first element of the path."),
		SnapshotErrors: c.Counter("snapshot_error_count", "Snapshots that could not be written."),
		SnapshotRefused: c.Counter("snapshot_rate_limited_count",
			"Snapshots refused to the admin command because the last one was too recent."),
		restoreErrors: c.Counter("restore_error_count", "Snapshots that the admin command could not restore."),
		RestoreRefused: c.Counter("restore_rate_limited_count",
			"Restores refused to the admin command because the last one was too recent."),
		restoreTime: c.Basic("restore_time", "Time to restore a snapshot by the admin command, ms."),
		TlsFailed:   c.Counter("unsuccessful_handshake", "TLS handshakes of clients that failed."),
		TlsExceeded: c.Counter("tls_handshake_exceeded",
			"Connections closed because too many TLS handshakes had begun."),
		EnsembleSuccess: c.Counter("ensemble_auth_success", "Clients that named this ensemble."),
		EnsembleFail:    c.Counter("ensemble_auth_fail", "Clients closed because they named another ensemble."),
		EnsembleSkip: c.Counter("ensemble_auth_skip",
			"Clients that named no ensemble, or that no name was compared with."),
		InsecureAdmin: c.Counter("insecure_admin_count",
			"Connections without TLS to an admin port that offers it."),

		ttlCreated: c.Counter("ttl_node_created_count", "TTL znodes that were created."),
		ttlDeleted: c.Counter("ttl_node_deleted_count", "TTL znodes that were deleted, by the server or by a client."),

		Pauses: figures.NewPauses(c.Advanced("jvm_pause_time_ms",
			"Pauses of all goroutines for the garbage collector, ms.")),

		WalBytes: counter("warren_wal_append_bytes_total", "Bytes appended to the log."),
		WalTxns:  counter("warren_wal_append_txns_total", "Txns appended to the log."),
		WalSync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "warren_wal_fsync_seconds",
			Help:    "Time of one sync of the log; if it grows, the disk limits writes.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16),
		}),
		SnapshotTime: &snapshotTimes{Histogram: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "warren_snapshot_write_seconds", Help: "Time to write and verify one snapshot.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 4, 10),
		})},
		ContainersDeleted: counter("warren_server_containers_deleted_total",
			"Deletions of containers and TTL znodes that were begun."),
		RefusedDiskFull: counter("warren_server_writes_refused_total",
			"Writes refused because the disk is almost full: make room."),
		refused: map[Refusal]*atomic.Int64{},
		ConnectWaits: counter("warren_server_connect_waits_total",
			"Clients that connected while there was no leader: they may wait for warren.connect.wait."),
		RateWaits: counter("warren_server_rate_waits_total",
			"Times a connection was not read from because its address had reached warren.maxRequestsPerSecond."),
	}
	m.SnapshotTime.errors = m.SnapshotErrors
	for i, kind := range []string{"created", "deleted", "changed", "children"} {
		m.watchers[i] = c.Basic("node_"+kind+"_watch_count", "Watches that one event of this kind has fired.")
	}
	for _, why := range refusals { // all of them are there from the beginning, so that each increase is seen
		count := new(atomic.Int64)
		m.refused[why] = count
		e.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "warren_server_connections_refused_total", ConstLabels: prometheus.Labels{"reason": string(why)},
			Help: "Connections closed instead of getting a session, by the reason: maxClientCnxns, maxCnxns, " +
				"descriptors (the last ones are for files and servers), rate (the connection throttle), drain, disk " +
				"(no room for a session), ahead (the client has seen a later zxid), read-only.",
		}, func() float64 { return float64(count.Load()) }))
	}
	e.Registry.MustRegister(m.WalBytes, m.WalTxns, m.WalSync, m.SnapshotTime, m.ContainersDeleted, m.RefusedDiskFull,
		m.RateWaits, m.ConnectWaits)
	return m
}

// TTL counts what a txn has done to a TTL znode.
func (m *Metrics) TTL(t proto.EventType) {
	switch t {
	case proto.EventNodeCreated:
		m.ttlCreated.Inc()
	case proto.EventNodeDeleted:
		m.ttlDeleted.Inc()
	}
}

// Admitted counts an accepted connection without TLS.
func (m *Metrics) Admitted(remote netip.Addr) {
	if remote.IsLoopback() {
		m.PlainLocal.Inc()
	} else {
		m.PlainRemote.Inc()
	}
}

// Connect counts a request to begin or resume a session, and notes how many tokens the connection throttle lacks.
func (m *Metrics) Connect(deficit int64) {
	m.connectionRequests.Inc()
	m.tokenDeficit.Observe(deficit)
}

// Fired is how many watches the events of one txn have fired, by the type of the event.
type Fired [4]int32

// Add notes one watch.
func (f *Fired) Add(t proto.EventType) {
	if i := int(t) - 1; i >= 0 && i < len(f) {
		f[i]++
	}
}

// Fire counts the events of a txn, and empties f.
func (m *Metrics) Fire(f *Fired) {
	for i, n := range f {
		if n > 0 {
			m.watchers[i].Observe(int64(n))
			f[i] = 0
		}
	}
}
