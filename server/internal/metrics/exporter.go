package metrics

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/figures"
)

// Handler registers the metrics of a server with its registry, and returns what serves them, on the port of the
// exporter and on that of the admin server. It is called once for a server.
func Handler(f *ensemble.Facts) http.Handler {
	f.Registry.MustRegister(exporter{f})
	isServed := f.Config.AdminAddress() != "" || f.Config.Metrics.ClassName == config.PrometheusProvider
	if f.Config.Metrics.ExportRuntimeInfo && isServed {
		// If the caller's registry has them already, that is as good.
		_ = f.Registry.Register(collectors.NewGoCollector())
		_ = f.Registry.Register(jvm{})
		_ = f.Registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return promhttp.HandlerFor(f.Registry, promhttp.HandlerOpts{})
}

// exporter collects the metrics of a server for Prometheus. It has no state; any goroutine may collect.
type exporter struct{ *ensemble.Facts }

// Describe implements prometheus.Collector. It describes nothing: Collect decides which metrics there are.
func (exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (x exporter) Collect(ch chan<- prometheus.Metric) {
	s := sender(ch)
	x.member(s)
	if !x.Serving() {
		return
	}
	for _, g := range x.Gauges() {
		var labels prometheus.Labels
		if g.Namespace != "" {
			labels = prometheus.Labels{figures.KeyLabel: figures.Label(g.Namespace)}
		}
		s.send(prometheus.GaugeValue, g.Name, g.Help, g.Value, labels)
	}
	x.Metrics.Pauses.Refresh()
	x.Env.Stats.Collect(ch)
	x.own(s)
}

// member sends what is known also while the server does not serve: that it does not, histories that differ, databases
// that are missing, that the server is drained, and the findings.
func (x exporter) member(s sender) {
	s.findings(x.Findings())
	role, _ := x.Role()
	blank := 0
	if role.Search != nil && role.Search.Stuck {
		blank = len(role.Search.Blank)
	}
	s.send(prometheus.GaugeValue, "warren_build_info", "Always 1; the label has the version of Warren that runs.", 1,
		prometheus.Labels{"version": strings.TrimPrefix(x.Program, "Warren ")})
	s.gauge("warren_server_serving",
		"1 while the server serves all clients, or leads and leaves them to the others; 0 while it waits for a "+
			"leader, or serves only read-only clients.",
		oneIf(x.Serving() && !x.ReadOnly()))
	s.gauge("warren_server_draining", "1 while the server takes no clients, because an operator drains it.",
		oneIf(x.Draining()))
	s.gauge("warren_zab_outside",
		"1 while this server stays outside the ensemble, because of its history or its promises.",
		oneIf(role.Outside != nil))
	s.gauge("warren_zab_blank_voters", "Voters without a database, while no leader can be elected because of them.",
		float64(blank))
	s.gauge("warren_zab_strangers", "Members whose history is known to differ from that of this server.",
		float64(len(role.Strangers)))
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// own sends Warren's own metrics of the server.
func (x exporter) own(s sender) {
	if role, _ := x.Role(); role.Leading {
		s.gauge("warren_zab_spare_voters",
			"Voters that may fail, whichever they are, before writes stop, by groups and weights too; of a leader.",
			float64(x.SpareVoters(&role)))
	}
	s.gauge("warren_server_requests_in_process",
		"Requests received and not answered; when it stays at globalOutstandingLimit, clients are held back.",
		float64(x.InProcess.Load()))
	s.counter("warren_wal_slow_syncs_total", "Syncs of the log above fsync.warningthresholdms.",
		float64(x.Metrics.SlowSyncs.Total()))
	s.counter("warren_server_purge_errors_total", "Purges of old snapshots and logs that failed.",
		float64(x.Metrics.PurgeErrors.Total()))
	s.counter("warren_server_log_lines_left_out_total",
		"Lines left out of the log because their message had been written 10 times in that second.",
		float64(x.LinesLeftOut.Load()))
	paths, memory, refused := x.WatchCosts()
	s.gauge("warren_server_watch_path_bytes",
		"Bytes of all watched paths, each stored once; warren.maxWatchBytes bounds them for each connection.",
		float64(paths))
	s.gauge("warren_server_watch_memory_bytes", "Memory that all watches take; warren.maxWatchMemory bounds it.",
		float64(memory))
	s.counter("warren_server_watches_refused_total",
		"Watches, and reconnects with watches, that warren.maxWatches, warren.maxWatchBytes or "+
			"warren.maxWatchMemory has refused.", float64(refused))
	for _, op := range proto.AllOps {
		if op.IsRead() || op == proto.OpPing {
			s.send(prometheus.CounterValue, "warren_server_reads_total", "Reads answered, by operation.",
				float64(x.Env.Stats.CountOf(op)), prometheus.Labels{"op": op.String()})
		}
	}
}

// sender takes the values of one scrape.
type sender chan<- prometheus.Metric

// findings sends a series for each check, severity and server. A server may have two findings of one check: a scrape
// with a series twice fails.
func (s sender) findings(all []findings.Finding) {
	type series struct {
		check, severity string
		server          int64
	}
	sent := map[series]bool{}
	for _, f := range all {
		one := series{f.Check, f.Severity.String(), f.Server}
		if sent[one] {
			continue
		}
		sent[one] = true
		labels := prometheus.Labels{"check": f.Check, "severity": f.Severity.String(), "server": ""}
		if f.Server != findings.NoServer {
			labels["server"] = strconv.FormatInt(f.Server, 10)
		}
		s.send(prometheus.GaugeValue, "warren_finding", "1 while something is wrong with the ensemble, by the name "+
			"that warren doctor gives it; the label server is empty if it is about no single one.", 1, labels)
	}
}

func (s sender) gauge(name, help string, value float64) {
	s.send(prometheus.GaugeValue, name, help, value, nil)
}

func (s sender) counter(name, help string, value float64) {
	s.send(prometheus.CounterValue, name, help, value, nil)
}

func (s sender) send(kind prometheus.ValueType, name, help string, value float64, labels prometheus.Labels) {
	s <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, value)
}
