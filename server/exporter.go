package server

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// Describe implements prometheus.Collector. The set is described by what Collect returns.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	if !m.srv.serving.Load() {
		return
	}
	for _, g := range m.srv.gauges() {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue, g.value)
	}
	for _, q := range m.srv.quotas() {
		for _, g := range q.gauges() {
			ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, []string{keyLabel}, nil),
				prometheus.GaugeValue, g.value, label(q.namespace))
		}
	}
	m.pauses.refresh()
	m.srv.stats.collect(ch)
	ch <- prometheus.MustNewConstMetric(m.queueLength, prometheus.GaugeValue, float64(m.srv.inProcess.Load()))
	ch <- prometheus.MustNewConstMetric(m.slowSyncsTotal, prometheus.CounterValue, float64(m.slowSyncs.value.Load()))
	for _, op := range proto.AllOps {
		if classOf(op) == classRead {
			ch <- prometheus.MustNewConstMetric(m.requestsTotal, prometheus.CounterValue,
				float64(m.srv.stats.reads[opIndex(op)].Load()), op.String())
		}
	}
}

// exportRuntime adds the metrics of the Go runtime and of the process, if anybody can ask for them here.
func (s *Server) exportRuntime() {
	if s.cfg.Metrics.ExportRuntimeInfo && (s.cfg.AdminAddress() != "" || s.cfg.Metrics.ClassName == config.PrometheusProvider) {
		// A registry of the caller's may have them already, which is as good.
		_ = s.registry.Register(collectors.NewGoCollector())
		_ = s.registry.Register(newJVM())
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
