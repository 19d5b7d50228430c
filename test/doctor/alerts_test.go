package doctor

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/promtool"
)

var (
	ofEvents   = regexp.MustCompile(`\b(increase|rate|delta|changes)\(`)
	metricName = regexp.MustCompile(`[a-z][a-z_0-9]{3,}`)
	metricLine = regexp.MustCompile(`(?m)^([a-z][a-z_0-9]+)(\{.*\})? (\S+)$`)
)

// metricsOf are the names in rules.
func metricsOf(rules []promtool.Rule) map[string]bool {
	used := map[string]bool{}
	for _, r := range rules {
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			used[name] = true
		}
	}
	return used
}

// samplesIn are the numbers of metrics that rules use, by metric with labels. Times are relative to a beginning,
// because promtool begins in 1970.
func samplesIn(text string, used map[string]bool, begin time.Time) map[string]float64 {
	all := map[string]float64{}
	for _, m := range metricLine.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[3], 64)
		if !used[m[1]] || err != nil || math.IsNaN(v) {
			continue
		}
		if strings.HasSuffix(m[1], "_timestamp_seconds") || m[1] == "process_start_time_seconds" {
			v -= float64(begin.Unix())
		}
		all[m[1]+m[2]] = v
	}
	return all
}

// targetOf are the labels that Prometheus gives the metrics of a server.
func targetOf(n *cluster.Node) map[string]string {
	return map[string]string{"job": "zk", "ensemble": "main", "instance": n.Addr()}
}

// alertLasts is how long an accident has lasted when the alerts are looked at, scraped how often its metrics are read
// meanwhile, and evaluated how often the rules are. Nothing changes in that time.
const alertLasts, scraped, evaluated = 70 * time.Minute, time.Minute, 5 * time.Minute

// firing are the alerts that fire when an accident lasts, by promtool: while the servers show what they do now, and
// those that are silent cannot be scraped. Alerts about events, which have to happen again, are those of the accident.
// ok is false if there is no promtool.
func (h *hosts) firing(a *accident) (alerts []string, ok bool) {
	if !promtool.Installed() {
		return nil, false
	}
	rules := promtool.Rules(h.t)
	used := metricsOf(rules)
	var all []promtool.Series
	steady := func(name string, n *cluster.Node, v float64) {
		all = append(all, promtool.Series{Series: promtool.Named(name, targetOf(n)),
			Values: fmt.Sprintf("%s+0x%d", strconv.FormatFloat(v, 'f', -1, 64), alertLasts/scraped)})
	}
	for i, n := range h.nodes {
		if slices.Contains(a.silent, i) {
			steady("up", n, 0)
			continue
		}
		steady("up", n, 1)
		_, text, err := h.get(i, "/metrics")
		require.NoError(h.t, err)
		for name, v := range samplesIn(text, used, time.Now()) {
			steady(name, n, v)
		}
	}
	alerts = promtool.Firing(h.t, all, scraped, evaluated, alertLasts, false)
	for name := range strings.FieldsSeq(a.repeated) {
		i := slices.IndexFunc(rules, func(r promtool.Rule) bool { return r.Alert == name })
		require.GreaterOrEqual(h.t, i, 0, "there is no alert %s", name)
		require.Regexp(h.t, ofEvents, rules[i].Expr, "%s is no alert about events", name)
		alerts = append(alerts, name)
	}
	promtool.InOrder(h.t, alerts)
	return slices.Compact(alerts), true
}
