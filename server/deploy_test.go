package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// scraped returns the names of all metrics: of the index in METRICS.md, which a test holds to what the servers of an
// ensemble export, and of the libraries in a server that leads an ensemble.
func scraped(t *testing.T) map[string]bool {
	t.Helper()
	cfg := tlsConfig()
	cfg.Metrics.ClassName, cfg.Metrics.Host, cfg.Metrics.Port = config.PrometheusProvider, "127.0.0.1", 0
	s := serveTLS(t, cfg, nil).Server
	c := dialWire(t, s, wire.Options{})
	for _, path := range []string{"/zookeeper/quota/app", "/zookeeper/quota/app/zookeeper_limits",
		"/zookeeper/quota/app/zookeeper_stats"} {
		c.MustCreate(t, path, []byte("count=1,bytes=1"), proto.ModePersistent)
	}
	s.Metrics.QuotaExceeded.Of("app").Inc()
	s.facts.Role = func() (host.QuorumRole, bool) {
		return host.QuorumRole{Peer: "leading - broadcast", Size: 3, Leading: true, LeaderUptime: time.Second}, true
	}
	s.Metrics.Quorum.AckLatency.Of("2").Observe(1)
	resp := must.Do(http.Get("http://" + s.ops.exportAt.String() + "/metrics"))(t)
	defer resp.Body.Close()
	body := must.ReadAll(t, resp.Body)
	http.DefaultClient.CloseIdleConnections()
	names := map[string]bool{"up": true} // Prometheus' own
	index := must.ReadFile(t, "../docs/METRICS.md")
	suffixes := map[string][]string{"gauge": {""}, "counter": {""}, "summary": {"", "_sum", "_count"},
		"histogram": {"_bucket", "_sum", "_count"}}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|")
	for _, row := range rows.FindAllStringSubmatch(string(index), -1) {
		for _, suffix := range suffixes[row[2]] {
			names[row[1]+suffix] = true
		}
	}
	for line := range strings.Lines(string(body)) {
		if name := regexp.MustCompile(`^\w+`).FindString(line); name != "" {
			names[name] = true
		}
	}
	return names
}

// Parts of an expression that are not names of metrics.
var notMetrics = regexp.MustCompile(`"[^"]*"|\{[^{}]*\}|\[[^\]]*\]|(by|without|on|ignoring)\s*\([^)]*\)|` +
	`\b(and|or|unless|bool|offset)\b|\w+\s*\(|\$\w+`)

// metricsOf returns the metrics that an expression of PromQL reads.
func metricsOf(expr string) []string {
	expr = notMetrics.ReplaceAllString(notMetrics.ReplaceAllString(expr, " "), " ")
	return regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`).FindAllString(expr, -1)
}

func TestMetricsOfAnExpression(t *testing.T) {
	for expr, want := range map[string][]string{
		`up == 0`:                       {"up"},
		`rate(fsynctime_sum[1m]) > 1e2`: {"fsynctime_sum"},
		`sum by (op) (rate(a_total{job="$job",x=~"b c"}[$__rate])) / b`:                       {"a_total", "b"},
		`count by (job) (u > 0) != 1 or (max by (job) (q) > 0 unless count by (job) (u > 0))`: {"u", "q", "u"},
		`histogram_quantile(0.99, sum by (le) (rate(h_bucket[5m])))`:                          {"h_bucket"},
		`jvm{area="heap"} / on (instance) m{area="heap"}`:                                     {"jvm", "m"},
	} {
		var got []string
		for _, name := range metricsOf(expr) {
			if name != "e2" {
				got = append(got, name)
			}
		}
		require.Equal(t, want, got, expr)
	}
}

// requireMetrics fails for every metric of the expressions that no server exports.
func requireMetrics(t *testing.T, exprs map[string]string) {
	t.Helper()
	names := scraped(t)
	read := map[string]bool{}
	for _, where := range slices.Sorted(maps.Keys(exprs)) {
		found := metricsOf(exprs[where])
		require.NotEmpty(t, found, "%s: %s", where, exprs[where])
		for _, name := range found {
			read[name] = true
			if !names[name] {
				t.Errorf("%s reads %s, which no server exports: %s", where, name, exprs[where])
			}
		}
	}
	require.Greater(t, len(read), 15)
}

// DeployedMetrics are the metrics that the alert rules and the dashboard read.
func DeployedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	for _, exprs := range []map[string]string{alertExprs(t), dashboardExprs(t)} {
		for _, expr := range exprs {
			for _, name := range metricsOf(expr) {
				read[name] = true
			}
		}
	}
	return read
}

// TestAlertsReadMetricsThatExist parses the alert rules.
func TestAlertsReadMetricsThatExist(t *testing.T) { requireMetrics(t, alertExprs(t)) }

// alertExprs are the expressions of the alert rules.
func alertExprs(t *testing.T) map[string]string {
	t.Helper()
	text := must.ReadFile(t, "../deploy/prometheus/warren.rules.yml")
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))
	exprs := map[string]string{}
	for _, g := range file.Groups {
		require.NotEmpty(t, g.Name)
		for _, r := range g.Rules {
			require.Regexp(t, `^[A-Z][A-Za-z]+$`, r.Alert)
			require.NotContains(t, exprs, r.Alert, "two alerts of one name")
			const either = `{{ if eq $labels.severity "warning" }}warning{{ else }}critical{{ end }}`
			require.Contains(t, []string{"warning", "critical", either}, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
			require.NotEmpty(t, r.Annotations["description"], r.Alert)
			if r.For != "" {
				require.NoError(t, must.Err(time.ParseDuration(r.For)), r.Alert)
			}
			exprs[r.Alert] = r.Expr
		}
	}
	return exprs
}

// TestDashboardReadsMetricsThatExist parses the dashboard.
func TestDashboardReadsMetricsThatExist(t *testing.T) { requireMetrics(t, dashboardExprs(t)) }

// dashboardExprs are the expressions of the dashboard.
func dashboardExprs(t *testing.T) map[string]string {
	t.Helper()
	text := must.ReadFile(t, "../deploy/grafana/warren.json")
	var board struct {
		Title, UID string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ H, W, X, Y int }
			Targets     []struct{ RefID, Expr string }
		}
		Annotations struct{ List []struct{ Name, Expr string } }
		Templating  struct {
			List []struct{ Name, Query string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	require.Equal(t, "Warren", board.Title)
	exprs := map[string]string{}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Less(t, cell[0], 24, p.Title)
				require.Empty(t, taken[cell], "%s lies on another panel", p.Title)
				taken[cell] = p.Title
			}
		}
		for _, target := range p.Targets {
			exprs[p.Title+" "+target.RefID] = target.Expr
		}
		if p.Type != "row" {
			require.NotEmpty(t, p.Targets, p.Title)
		}
	}
	require.Equal(t, "Verdict", board.Panels[0].Title, "the answer comes first")
	require.NotEmpty(t, board.Annotations.List)
	for _, a := range board.Annotations.List {
		exprs["annotation "+a.Name] = a.Expr
	}
	for _, v := range board.Templating.List {
		if rest, ok := strings.CutPrefix(v.Query, "label_values("); ok {
			exprs["variable "+v.Name] = rest[:strings.LastIndex(rest, ",")]
		}
	}
	return exprs
}
