package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/keystore"
)

// exporter gives the metrics of a server to Prometheus.
type exporter struct {
	*monitor
	queueLength, requestsTotal, slowSyncsTotal, linesLeftOutTotal *prometheus.Desc
}

func newExporter(s *monitor) *exporter {
	return &exporter{
		monitor:           s,
		queueLength:       prometheus.NewDesc("warren_server_requests_in_process", "Requests received and not answered; when it stays at globalOutstandingLimit, clients are held back.", nil, nil),
		requestsTotal:     prometheus.NewDesc("warren_server_reads_total", "Reads answered, by operation.", []string{"op"}, nil),
		slowSyncsTotal:    prometheus.NewDesc("warren_wal_slow_syncs_total", "Syncs of the log above fsync.warningthresholdms.", nil, nil),
		linesLeftOutTotal: prometheus.NewDesc("warren_server_log_lines_left_out_total", "Lines left out of the log because their message had been written 10 times in that second.", nil, nil),
	}
}

// Describe implements prometheus.Collector. The set is described by what Collect returns.
func (x *exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (x *exporter) Collect(ch chan<- prometheus.Metric) {
	if !x.serving.Load() {
		return
	}
	for _, g := range x.gauges() {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue, g.value)
	}
	for _, q := range x.quotas() {
		for _, g := range q.gauges() {
			ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, []string{figures.KeyLabel}, nil),
				prometheus.GaugeValue, g.value, figures.Label(q.namespace))
		}
	}
	x.metrics.pauses.Refresh()
	x.stats.Collect(ch)
	ch <- prometheus.MustNewConstMetric(x.queueLength, prometheus.GaugeValue, float64(x.inProcess.Load()))
	ch <- prometheus.MustNewConstMetric(x.slowSyncsTotal, prometheus.CounterValue, float64(x.metrics.slowSyncs.Total()))
	ch <- prometheus.MustNewConstMetric(x.linesLeftOutTotal, prometheus.CounterValue, float64(x.linesLeftOut.Load()))
	for _, op := range proto.AllOps {
		if op.IsRead() || op == proto.OpPing {
			ch <- prometheus.MustNewConstMetric(x.requestsTotal, prometheus.CounterValue, float64(x.stats.ReadsOf(op)), op.String())
		}
	}
}

// exportRuntime adds the metrics of the Go runtime and of the process, if anybody can ask for them here.
func (s *monitor) exportRuntime() {
	if s.cfg.Metrics.ExportRuntimeInfo && (s.cfg.AdminAddress() != "" || s.cfg.Metrics.ClassName == config.PrometheusProvider) {
		// A registry of the caller's may have them already, which is as good.
		_ = s.registry.Register(collectors.NewGoCollector())
		_ = s.registry.Register(figures.NewJVM())
		_ = s.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
}

// metricsHandler serves the metrics, on the port of the exporter and on that of the admin server.
func (s *monitor) metricsHandler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
}

// MetricsError ends the node when the metrics exporter cannot start, as it does ZooKeeper. Source: operations 4.1.
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

// serveMetrics opens the ports of the metrics exporter, if one is configured.
func (s *monitor) serveMetrics() {
	if s.cfg.Metrics.ClassName != config.PrometheusProvider {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metricsHandler())
	s.web = &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	for _, p := range s.exporterPorts() {
		addr := net.JoinHostPort(s.cfg.Metrics.Host, strconv.Itoa(p.port))
		ln, err := s.listenExporter(addr, p)
		if err != nil {
			s.log.Error("metrics are not exported", zap.String("addr", addr), zap.Error(err))
			s.fail(&MetricsError{addr, err})
			return
		}
		s.metricsLn = ln
		s.start("metrics", func() { _ = s.web.Serve(ln) })
	}
}

// exporterPort is one port of the exporter.
type exporterPort struct {
	port       int
	plain, tls bool
}

// exporterPorts is what to listen on: one port for both if the two are equal. With an HTTPS port, there is HTTP only if it
// was asked for.
func (s *monitor) exporterPorts() (all []exporterPort) {
	m := &s.cfg.Metrics
	switch {
	case m.HTTPSPort == config.PortUnset:
		return []exporterPort{{port: m.Port, plain: true}}
	case m.HTTPSPort == m.Port:
		return []exporterPort{{port: m.Port, plain: true, tls: true}}
	case m.Port != config.PortUnset && s.cfg.Given("metricsProvider.httpPort"):
		all = append(all, exporterPort{port: m.Port, plain: true})
	}
	return append(all, exporterPort{port: m.HTTPSPort, tls: true})
}

// listenExporter opens one port.
func (s *monitor) listenExporter(addr string, p exporterPort) (net.Listener, error) {
	var secure *tls.Config
	if p.tls {
		m := &s.cfg.Metrics
		material := config.TLS{KeyStore: m.KeyStore, TrustStore: m.TrustStore, EnabledProtocols: m.EnabledProtocols,
			CipherSuites: m.CipherSuites, ClientAuth: clientAuth(m)}
		keys, err := keystore.Open(s.fs, &material, s.log)
		if err != nil {
			return nil, err
		}
		if secure = keys.Server(); secure == nil {
			return nil, errExporterKeys
		}
	}
	ln, err := net.Listen("tcp", addr)
	switch {
	case err != nil:
		return nil, err
	case p.plain && p.tls:
		return admin.Unify(ln, secure, nil), nil
	case p.tls:
		return tls.NewListener(ln, secure), nil
	}
	return ln, nil
}

var errExporterKeys = errors.New("metricsProvider.httpsPort needs metricsProvider.ssl.keyStore.location")

// clientAuth is whether scrapers show certificates.
func clientAuth(m *config.Metrics) string {
	switch {
	case m.NeedClientAuth:
		return "need"
	case m.WantClientAuth:
		return "want"
	}
	return "none"
}

// exportDifferences adds the gauges of histories that differ, which a server has also while it does not serve.
func (s *monitor) exportDifferences() {
	gauge := func(name, help string, value func(quorumRole) float64) {
		s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			role, _ := s.role()
			return value(role)
		}))
	}
	gauge("warren_zab_outside", "1 while this server stays outside the ensemble: its directory has another history.",
		func(r quorumRole) float64 {
			if r.Outside != nil {
				return 1
			}
			return 0
		})
	gauge("warren_zab_strangers", "Members whose history is known to differ from that of this server.",
		func(r quorumRole) float64 { return float64(len(r.Strangers)) })
}
