package words

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/keystore"
)

// exporter collects the metrics of a server for Prometheus.
type exporter struct{ *Reporter }

// Describe implements prometheus.Collector. It describes nothing: Collect decides which metrics there are.
func (x *exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (x *exporter) Collect(ch chan<- prometheus.Metric) {
	if !x.Doors.IsOpen() {
		return
	}
	send := func(kind prometheus.ValueType, name, help string, value float64, labels prometheus.Labels) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, value)
	}
	for _, g := range x.gauges() {
		send(prometheus.GaugeValue, g.Name, g.help, g.value, nil)
	}
	for _, q := range x.Quotas() {
		for _, g := range q.gauges() {
			send(prometheus.GaugeValue, g.Name, g.help, g.value,
				prometheus.Labels{figures.KeyLabel: figures.Label(q.Namespace)})
		}
	}
	x.Metrics.Pauses.Refresh()
	x.Stats.Collect(ch)
	send(prometheus.GaugeValue, "warren_server_requests_in_process",
		"Requests received and not answered; when it stays at globalOutstandingLimit, clients are held back.",
		float64(x.InProcess.Load()), nil)
	send(prometheus.CounterValue, "warren_wal_slow_syncs_total", "Syncs of the log above fsync.warningthresholdms.",
		float64(x.Metrics.SlowSyncs.Total()), nil)
	send(prometheus.CounterValue, "warren_server_log_lines_left_out_total",
		"Lines left out of the log because their message had been written 10 times in that second.",
		float64(x.LinesLeftOut.Load()), nil)
	paths := uint64(0)
	x.front.Watches(func(r *watch.Registry) { paths = r.PathBytes() })
	send(prometheus.GaugeValue, "warren_server_watch_path_bytes",
		"Bytes of all watched paths, each stored once; warren.maxWatchBytes bounds them for each connection.",
		float64(paths), nil)
	send(prometheus.GaugeValue, "warren_server_watch_memory_bytes",
		"Memory that all watches take; warren.maxWatchMemory bounds it.", float64(x.front.WatchMemory()), nil)
	send(prometheus.CounterValue, "warren_server_watches_refused_total",
		"Watches, and reconnects with watches, that warren.maxWatches, warren.maxWatchBytes or "+
			"warren.maxWatchMemory has refused.", float64(x.front.RefusedWatches()), nil)
	for _, op := range proto.AllOps {
		if op.IsRead() || op == proto.OpPing {
			send(prometheus.CounterValue, "warren_server_reads_total", "Reads answered, by operation.",
				float64(x.Stats.CountOf(op)), prometheus.Labels{"op": op.String()})
		}
	}
}

// exportRuntime adds the metrics of the Go runtime and of the process, if there is a port that serves them.
func (s *Reporter) exportRuntime() {
	served := s.Config.AdminAddress() != "" || s.Config.Metrics.ClassName == config.PrometheusProvider
	if s.Config.Metrics.ExportRuntimeInfo && served {
		// If the caller's registry has them already, that is as good.
		_ = s.Registry.Register(collectors.NewGoCollector())
		_ = s.Registry.Register(figures.NewJVM())
		_ = s.Registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
}

// metricsHandler serves the metrics, on the port of the exporter and on that of the admin server.
func (s *Reporter) metricsHandler() http.Handler {
	return promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{})
}

// MetricsError ends the server when the metrics exporter cannot start, as in ZooKeeper. Source: operations 4.1.
type MetricsError struct {
	Addr string
	Err  error
}

// Error names the address and the reason.
func (e *MetricsError) Error() string {
	return "server: metrics cannot be exported on " + e.Addr + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *MetricsError) Unwrap() error { return e.Err }

// ServeMetrics opens the ports of the metrics exporter, if one is configured.
func (s *Reporter) ServeMetrics() {
	if s.Config.Metrics.ClassName != config.PrometheusProvider {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metricsHandler())
	errorLog, _ := zap.NewStdLogAt(s.Log, zap.DebugLevel) // fails only for unknown levels
	s.web = &http.Server{Handler: admin.Fatal(mux), ReadTimeout: 5 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, ErrorLog: errorLog}
	places := admin.NewPlaces(s.web, nil)
	for _, p := range s.ExporterPorts() {
		addr := net.JoinHostPort(s.Config.Metrics.Host, strconv.Itoa(p.Port))
		ln, err := s.listenExporter(addr, p, places)
		if err != nil {
			s.Log.Error("metrics are not exported", zap.String("addr", addr), zap.Error(err))
			s.Fail(&MetricsError{addr, err})
			return
		}
		s.MetricsLn = ln
		s.Spawn("metrics", func() { _ = s.web.Serve(ln) })
	}
}

// ExporterPort is one port of the exporter.
type ExporterPort struct {
	Port       int
	Plain, TLS bool
}

// ExporterPorts are the ports to listen on: one port for both protocols if their numbers are equal. If there is an
// HTTPS port, there is an HTTP port only if it is configured.
func (s *Reporter) ExporterPorts() (all []ExporterPort) {
	m := &s.Config.Metrics
	switch {
	case m.HTTPSPort == config.PortUnset:
		return []ExporterPort{{Port: m.Port, Plain: true}}
	case m.HTTPSPort == m.Port:
		return []ExporterPort{{Port: m.Port, Plain: true, TLS: true}}
	case m.Port != config.PortUnset && s.Config.Given("metricsProvider.httpPort"):
		all = append(all, ExporterPort{Port: m.Port, Plain: true})
	}
	return append(all, ExporterPort{Port: m.HTTPSPort, TLS: true})
}

// listenExporter opens one port.
func (s *Reporter) listenExporter(addr string, p ExporterPort, places *admin.Places) (net.Listener, error) {
	var secure *tls.Config
	if p.TLS {
		keys, err := s.exporterKeys()
		if err != nil {
			return nil, err
		}
		s.Spawn("exporter keys", func() { keys.Watch(keystore.ReloadInterval, s.Stopping.Done()) })
		s.keys.exporter.Store(keys)
		secure = keys.Server()
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ln = places.Listen(ln)
	switch {
	case p.Plain && p.TLS:
		return admin.Unify(ln, secure, s.front.Handshakes, nil), nil
	case p.TLS:
		return s.front.Handshakes.Listen(ln, secure), nil
	}
	return ln, nil
}

// exporterKeys loads the certificates of the exporter.
func (s *Reporter) exporterKeys() (*keystore.Keys, error) {
	m := &s.Config.Metrics
	material := config.TLS{KeyStore: m.KeyStore, TrustStore: m.TrustStore, EnabledProtocols: m.EnabledProtocols,
		CipherSuites: m.CipherSuites, ClientAuth: clientAuth(m)}
	keys, err := keystore.Open(s.FS, &material, s.Log)
	if err != nil {
		return nil, &env.ConfigError{Err: fmt.Errorf("the metrics exporter: %w", err)}
	}
	if keys.Server() == nil {
		return nil, &env.ConfigError{Err: errExporterKeys}
	}
	return keys, nil
}

var errExporterKeys = errors.New("metricsProvider.httpsPort needs metricsProvider.ssl.keyStore.location")

// clientAuth says whether scrapers must show certificates. Without a trust store they are not asked for one that they
// need not have, because it could not be checked.
func clientAuth(m *config.Metrics) string {
	switch {
	case m.NeedClientAuth:
		return "need"
	case m.WantClientAuth && m.TrustStore.Location != "":
		return "want"
	}
	return "none"
}

// exportDifferences adds the gauges of histories that differ, of databases that are missing, and of a drained server.
// They exist also while the server does not serve.
func (s *Reporter) exportDifferences() {
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_server_draining", Help: "1 while the server takes no clients, because an operator drains it.",
	}, func() float64 {
		if _, on := s.front.Draining(); on {
			return 1
		}
		return 0
	}))
	gauge := func(name, help string, value func(host.QuorumRole) float64) {
		s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			role, _ := s.Role()
			return value(role)
		}))
	}
	gauge("warren_zab_outside",
		"1 while this server stays outside the ensemble, because of its history or its promises.",
		func(r host.QuorumRole) float64 {
			if r.Outside != nil {
				return 1
			}
			return 0
		})
	gauge("warren_zab_blank_voters", "Voters without a database, while no leader can be elected because of them.",
		func(r host.QuorumRole) float64 {
			if r.Search == nil || !r.Search.Stuck {
				return 0
			}
			return float64(len(r.Search.Blank))
		})
	gauge("warren_zab_strangers", "Members whose history is known to differ from that of this server.",
		func(r host.QuorumRole) float64 { return float64(len(r.Strangers)) })
}
