package server

import (
	"net/netip"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
)

// metrics is the server's metrics: those that ZooKeeper has under its names, ours beside them
// with the prefix warren_. mntr prints ZooKeeper's. What counts a thing that this server does not do is left out,
// so that nobody takes a constant for a measurement.
type metrics struct {
	quorum *figures.Quorum

	connectionRequests *figures.Counter
	connectionRejected *figures.Counter
	connectionDropped  *figures.Counter
	revalidateCount    *figures.Counter
	sessionless        *figures.Counter
	staleSessions      *figures.Counter
	notRunning         *figures.Counter
	digestMismatches   *figures.Counter
	unrecoverable      *figures.Counter
	throttledOps       *figures.Counter
	throttleWaits      *figures.Counter
	throttleTime       *figures.Summary
	tokenDeficit       *figures.Summary
	largeRejected      *figures.Counter
	rateWaits          prometheus.Counter
	quotaExceeded      *figures.CounterSet
	snapshotErrors     *figures.Counter
	snapshotRefused    *figures.Counter
	restoreErrors      *figures.Counter
	restoreRefused     *figures.Counter
	restoreTime        *figures.Summary
	watchers           [4]*figures.Summary // by the type of the event, less one
	pauses             *figures.Pauses

	// TLS. Whoever accepts TLS connections adds to them.
	tlsFailed     *figures.Counter // handshakes that failed
	tlsExceeded   *figures.Counter // connections closed because of netty.server.outstandingHandshake.limit
	tlsUnfinished atomic.Int64     // handshakes that have begun and not ended
	insecureAdmin *figures.Counter // admin connections without TLS on a port that has it

	ensembleSuccess, ensembleFail, ensembleSkip *figures.Counter // of the scheme ensemble

	// Shown elsewhere than among the counters.
	authFailed  figures.Counter
	slowSyncs   figures.Counter
	plainLocal  figures.Counter // connections without TLS from this host
	plainRemote figures.Counter // and from others

	walBytes          prometheus.Counter
	walTxns           prometheus.Counter
	walSync           prometheus.Histogram
	snapshotTime      prometheus.Histogram
	containersDeleted prometheus.Counter
	refusedDiskFull   prometheus.Counter
}

func newMetrics(e *env) *metrics {
	c := &e.stats.Metrics
	m := &metrics{
		quorum: figures.NewQuorum(c),

		connectionRequests: c.Counter("connection_request_count", "Requests to begin or resume a session."),
		connectionRejected: c.Counter("connection_rejected", "Connections refused because of a limit."),
		connectionDropped:  c.Counter("connection_drop_count", "Connections that clients ended without closing the session."),
		revalidateCount:    c.Counter("connection_revalidate_count", "Attempts to resume a session."),
		sessionless:        c.Counter("sessionless_connections_expired", "Connections closed because they never asked for a session."),
		staleSessions:      c.Counter("stale_sessions_expired", "Sessions expired."),
		notRunning:         c.Counter("cnxn_closed_without_zk_server_running", "Connections closed because the server was not serving."),
		digestMismatches:   c.Counter("digest_mismatches_count", "Txns after which the tree's digest was not the expected one: an alarm."),
		unrecoverable:      c.Counter("unrecoverable_error_count", "Errors that end the server."),
		throttledOps:       c.Counter("throttled_ops", "Writes answered ThrottledOp because they waited too long."),
		throttleWaits:      c.Counter("request_throttle_wait_count", "Times a connection was held back by request_throttle_max_requests."),
		throttleTime:       c.Advanced("request_throttle_queue_time_ms", "Time that a connection was held back, ms."),
		tokenDeficit:       c.Basic("connection_token_deficit", "Tokens missing in the connection throttle when a session is asked for."),
		largeRejected:      c.Counter("large_requests_rejected", "Requests refused because of largeRequestMaxBytes."),
		quotaExceeded:      c.CounterSet("quota_exceeded_error_per_namespace", "Writes refused because of a hard quota, by the first element of the path."),
		snapshotErrors:     c.Counter("snapshot_error_count", "Snapshots that could not be written."),
		snapshotRefused:    c.Counter("snapshot_rate_limited_count", "Snapshots refused to the admin command because the last one was too recent."),
		restoreErrors:      c.Counter("restore_error_count", "Snapshots that the admin command could not restore."),
		restoreRefused:     c.Counter("restore_rate_limited_count", "Restores refused to the admin command because the last one was too recent."),
		restoreTime:        c.Basic("restore_time", "Time to restore a snapshot by the admin command, ms."),
		tlsFailed:          c.Counter("unsuccessful_handshake", "TLS handshakes of clients that failed."),
		tlsExceeded:        c.Counter("tls_handshake_exceeded", "Connections closed because too many TLS handshakes had begun."),
		ensembleSuccess:    c.Counter("ensemble_auth_success", "Clients that named this ensemble."),
		ensembleFail:       c.Counter("ensemble_auth_fail", "Clients closed because they named another ensemble."),
		ensembleSkip:       c.Counter("ensemble_auth_skip", "Clients that named no ensemble, or that no name was compared with."),
		insecureAdmin:      c.Counter("insecure_admin_count", "Connections without TLS to an admin port that offers it."),

		pauses: figures.NewPauses(c.Advanced("jvm_pause_time_ms", "Pauses of all goroutines for the garbage collector, ms.")),

		walBytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "warren_wal_append_bytes_total", Help: "Bytes appended to the log."}),
		walTxns:  prometheus.NewCounter(prometheus.CounterOpts{Name: "warren_wal_append_txns_total", Help: "Txns appended to the log."}),
		walSync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "warren_wal_fsync_seconds", Help: "Time of one sync of the log; if it grows, the disk limits writes.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16),
		}),
		snapshotTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "warren_snapshot_write_seconds", Help: "Time to write and verify one snapshot.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 4, 10),
		}),
		containersDeleted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warren_server_containers_deleted_total", Help: "Deletions of containers and TTL znodes that were begun."}),
		refusedDiskFull: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warren_server_writes_refused_total", Help: "Writes refused because the disk is almost full: make room."}),
		rateWaits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warren_server_rate_waits_total", Help: "Times a connection was not read from because its address had reached warren.maxRequestsPerSecond."}),
	}
	for i, kind := range []string{"created", "deleted", "changed", "children"} {
		m.watchers[i] = c.Basic("node_"+kind+"_watch_count", "Watches that one event of this kind has fired.")
	}
	e.registry.MustRegister(m.walBytes, m.walTxns, m.walSync, m.snapshotTime, m.containersDeleted, m.refusedDiskFull, m.rateWaits)
	return m
}

// admitted counts a connection without TLS.
func (m *metrics) admitted(remote netip.Addr) {
	if remote.IsLoopback() {
		m.plainLocal.Inc()
	} else {
		m.plainRemote.Inc()
	}
}

// connect accounts for a request to begin or resume a session, and for the tokens that the connection throttle lacks.
func (m *metrics) connect(deficit int64) {
	m.connectionRequests.Inc()
	m.tokenDeficit.Observe(deficit)
}

// fired is how many watches the events of one txn have fired, by the type of the event.
type fired [4]int32

// add notes one watch.
func (f *fired) add(t proto.EventType) {
	if i := int(t) - 1; i >= 0 && i < len(f) {
		f[i]++
	}
}

// fire accounts for the events of a txn, and empties f.
func (m *metrics) fire(f *fired) {
	for i, n := range f {
		if n > 0 {
			m.watchers[i].Observe(int64(n))
			f[i] = 0
		}
	}
}
