package server

import (
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/wal"
)

// metrics is the server's metrics: those that ZooKeeper has under its names, ours beside them
// with the prefix warren_. mntr prints the same numbers.
type metrics struct {
	srv       *Server
	counters  []*counter
	summaries []namedSummary

	connectionRejected *counter
	connectionRequests *counter
	revalidateCount    *counter
	authFailed         *counter
	staleSessions      *counter
	digestMismatches   *counter
	snapshotErrors     *counter
	containersDeleted  *counter
	fsyncSlow          *counter
	quotaExceeded      *counter
	throttledOps       *counter
	refusedDiskFull    *counter
	snapshotRefused    *counter

	walBytes      prometheus.Counter
	walTxns       prometheus.Counter
	walSync       prometheus.Histogram
	snapshotTime  prometheus.Histogram
	queueLength   *prometheus.Desc
	requestsTotal *prometheus.Desc
	gaugeDescs    map[string]*prometheus.Desc
	summaryDescs  map[string]*prometheus.Desc
	counterDescs  map[string]*prometheus.Desc
}

// counter is a number that only goes up, under one of ZooKeeper's names.
type counter struct {
	name, help string
	value      atomic.Int64
}

// Inc adds one.
func (c *counter) Inc() { c.value.Add(1) }

// namedSummary is a summary under one of ZooKeeper's names.
type namedSummary struct {
	name, help string
	of         *summary
	quantiles  bool // ZooKeeper prints quantiles of it
}

func newMetrics(s *Server) *metrics {
	m := &metrics{srv: s}
	add := func(name, help string) *counter {
		c := &counter{name: name, help: help}
		m.counters = append(m.counters, c)
		return c
	}
	m.connectionRejected = add("connection_rejected", "Connections refused because of a limit.")
	m.connectionRequests = add("connection_request_count", "Sessions begun.")
	m.revalidateCount = add("connection_revalidate_count", "Attempts to resume a session.")
	m.authFailed = add("auth_failed_count", "Credentials refused.")
	m.staleSessions = add("stale_sessions_expired", "Sessions expired.")
	m.digestMismatches = add("digest_mismatches_count", "Txns after which the tree's digest was not the expected one: an alarm.")
	m.snapshotErrors = add("snapshot_error_count", "Snapshots that could not be written.")
	m.containersDeleted = add("container_deletion_count", "Deletions of containers and TTL znodes that were begun.")
	m.fsyncSlow = add("fsync_threshold_exceed_count", "Syncs of the log above fsync.warningthresholdms.")
	m.quotaExceeded = add("quota_exceeded_error_count", "Writes refused because of a hard quota.")
	m.throttledOps = add("throttled_ops", "Writes answered ThrottledOp because they waited too long.")
	m.refusedDiskFull = add("write_refused_disk_full_count", "Writes refused because the disk is almost full.")
	m.snapshotRefused = add("snapshot_rate_limited_count", "Snapshots refused to the admin command because the last one was too recent.")
	m.summaries = []namedSummary{
		{"readlatency", "Latency of reads, ms.", &s.stats.readLatency, true},
		{"updatelatency", "Latency of writes, ms.", &s.stats.writeLatency, true},
		{"fsynctime", "Time of one sync of the log, ms.", &s.stats.fsyncTime, false},
		{"snapshottime", "Time to write a snapshot, ms.", &s.stats.snapshotTime, false},
		{"sync_processor_batch_size", "Txns made durable by one sync.", &s.stats.batchTxns, false},
	}
	m.walBytes = prometheus.NewCounter(prometheus.CounterOpts{Name: "warren_wal_append_bytes_total", Help: "Bytes appended to the log."})
	m.walTxns = prometheus.NewCounter(prometheus.CounterOpts{Name: "warren_wal_append_txns_total", Help: "Txns appended to the log."})
	m.walSync = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "warren_wal_fsync_seconds", Help: "Time of one sync of the log; if it grows, the disk limits writes.",
		Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16),
	})
	m.snapshotTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "warren_snapshot_write_seconds", Help: "Time to write and verify one snapshot.",
		Buckets: prometheus.ExponentialBuckets(1e-3, 4, 10),
	})
	m.queueLength = prometheus.NewDesc("warren_server_requests_in_process", "Requests received and not answered; when it stays at globalOutstandingLimit, clients are held back.", nil, nil)
	m.requestsTotal = prometheus.NewDesc("warren_server_reads_total", "Reads answered, by operation.", []string{"op"}, nil)
	m.describe()
	s.registry.MustRegister(m, m.walBytes, m.walTxns, m.walSync, m.snapshotTime)
	return m
}

// describe prepares the descriptions of the metrics that Collect computes.
func (m *metrics) describe() {
	m.gaugeDescs, m.summaryDescs, m.counterDescs = map[string]*prometheus.Desc{}, map[string]*prometheus.Desc{}, map[string]*prometheus.Desc{}
	for _, c := range m.counters {
		m.counterDescs[c.name] = prometheus.NewDesc(c.name, c.help, nil, nil)
	}
	for _, s := range m.summaries {
		m.summaryDescs[s.name] = prometheus.NewDesc(s.name, s.help, nil, nil)
	}
}

// Describe implements prometheus.Collector. The set is described by what Collect returns.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	if !m.srv.serving.Load() {
		return
	}
	for _, g := range m.srv.gauges() {
		d := m.gaugeDescs[g.name]
		if d == nil {
			d = prometheus.NewDesc(g.name, g.help, nil, nil)
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, g.value)
	}
	for _, c := range m.counters {
		ch <- prometheus.MustNewConstMetric(m.counterDescs[c.name], prometheus.CounterValue, float64(c.value.Load()))
	}
	for _, s := range m.summaries {
		v := s.of.view()
		q := map[float64]float64{0.5: v.quantile(0.5)}
		if s.quantiles {
			q[0.9], q[0.95], q[0.99] = v.quantile(0.9), v.quantile(0.95), v.quantile(0.99)
		}
		ch <- prometheus.MustNewConstSummary(m.summaryDescs[s.name], uint64(v.count), float64(v.sum), q)
	}
	ch <- prometheus.MustNewConstMetric(m.queueLength, prometheus.GaugeValue, float64(m.srv.inProcess.Load()))
	for _, op := range proto.AllOps {
		if classOf(op) == classRead {
			ch <- prometheus.MustNewConstMetric(m.requestsTotal, prometheus.CounterValue,
				float64(m.srv.stats.reads[opIndex(op)].Load()), op.String())
		}
	}
}

// batch accounts for a batch that is durable.
func (m *metrics) batch(b *logBatch) {
	m.walTxns.Add(float64(b.txns))
}

// Appended implements wal.Events.
func (m *metrics) Appended(bytes int) { m.walBytes.Add(float64(bytes)) }

// Synced implements wal.Events.
func (m *metrics) Synced(took time.Duration, _ int64) {
	m.walSync.Observe(took.Seconds())
	m.srv.stats.fsyncTime.observe(took.Milliseconds())
	if limit := m.srv.cfg.FsyncWarningThreshold; limit > 0 && took > limit {
		m.fsyncSlow.Inc()
		m.srv.log.Warn("syncing the log was slow: every write waits for it", zap.Duration("took", took))
	}
}

// walOptions says where the log is and whom it tells what it does.
func (s *Server) walOptions() wal.Options {
	return wal.Options{FS: s.fs, Dir: s.logDir(), PreallocSize: s.cfg.PreAllocSizeKB << 10, Logger: s.log, Events: s.metrics}
}

// exportRuntime adds the metrics of the Go runtime and of the process, if anybody can ask for them here.
func (s *Server) exportRuntime() {
	if s.cfg.Metrics.ExportRuntimeInfo && (s.cfg.AdminAddress() != "" || s.cfg.Metrics.ClassName == config.PrometheusProvider) {
		// A registry of the caller's may have them already, which is as good.
		_ = s.registry.Register(collectors.NewGoCollector())
		_ = s.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
}

// metricsHandler serves the metrics, on the port of the exporter and on that of the admin server.
func (s *Server) metricsHandler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
}

// serveMetrics opens the port of the metrics exporter, if one is configured.
func (s *Server) serveMetrics() {
	if s.cfg.Metrics.ClassName != config.PrometheusProvider {
		return
	}
	addr := net.JoinHostPort(s.cfg.Metrics.Host, strconv.Itoa(s.cfg.Metrics.Port))
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		s.log.Error("metrics are not exported", zap.String("addr", addr), zap.Error(err))
		return
	}
	s.metricsLn = ln
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metricsHandler())
	s.web = &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	s.start("metrics", func() { _ = s.web.Serve(ln) })
}
