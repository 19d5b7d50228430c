package doctor

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// rulesFile has the alerts.
const rulesFile = "../../deploy/prometheus/warren.rules.yml"

// rule is an alert.
type rule struct{ Alert, Expr string }

// alertRules reads the alerts.
func alertRules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

var (
	ofEvents   = regexp.MustCompile(`\b(increase|rate|delta|changes)\(`)
	metricName = regexp.MustCompile(`[a-z][a-z_0-9]{3,}`)
	metricLine = regexp.MustCompile(`(?m)^([a-z][a-z_0-9]+)(\{.*\})? (\S+)$`)
	alertName  = regexp.MustCompile(`alertname="(\w+)"`)
)

// alertLasts is how long an accident has lasted when the alerts are looked at, and scraped how often its metrics are
// read meanwhile.
const alertLasts, scraped = 70 * time.Minute, time.Minute

// firing are the alerts that fire when an accident lasts, by promtool: while the servers show what they do now, and
// those that are silent cannot be scraped. Alerts about events, which have to happen again, are those of the accident.
// ok is false if there is no promtool.
func (h *hosts) firing(a *accident) (alerts []string, ok bool) {
	if _, err := exec.LookPath("promtool"); err != nil {
		return nil, false
	}
	rules := alertRules(h.t)
	used := map[string]bool{}
	for _, r := range rules {
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			used[name] = true
		}
	}
	type series struct{ Series, Values string }
	var all []series
	steady := func(name, labels string, i int, v float64) {
		labels = strings.TrimPrefix(strings.TrimSuffix(labels, "}"), "{")
		if labels != "" {
			labels += ","
		}
		all = append(all, series{fmt.Sprintf(`%s{%sjob="zk",ensemble="main",instance="zk%d"}`, name, labels, i),
			fmt.Sprintf("%s+0x%d", strconv.FormatFloat(v, 'f', -1, 64), alertLasts/scraped)})
	}
	for i := range h.nodes {
		if slices.Contains(a.silent, i) {
			steady("up", "", i, 0)
			continue
		}
		steady("up", "", i, 1)
		_, text, err := h.get(i, "/metrics")
		require.NoError(h.t, err)
		for _, m := range metricLine.FindAllStringSubmatch(text, -1) {
			v, err := strconv.ParseFloat(m[3], 64)
			if !used[m[1]] || err != nil || math.IsNaN(v) {
				continue
			}
			if strings.HasSuffix(m[1], "_timestamp_seconds") { // promtool begins in 1970
				v -= float64(time.Now().Unix())
			}
			steady(m[1], m[2], i, v)
		}
	}
	file, err := filepath.Abs(rulesFile)
	require.NoError(h.t, err)
	text, err := yaml.Marshal(map[string]any{"rule_files": []string{file}, "evaluation_interval": scraped.String(),
		"tests": []any{map[string]any{"interval": scraped.String(), "input_series": all,
			"promql_expr_test": []any{map[string]any{"expr": `group by (alertname) (ALERTS{alertstate="firing"})`,
				"eval_time": alertLasts.String()}}}}})
	require.NoError(h.t, err)
	name := filepath.Join(h.t.TempDir(), "test.yml")
	require.NoError(h.t, os.WriteFile(name, text, 0o600))
	out, err := exec.Command("promtool", "test", "rules", name).CombinedOutput() // it fails if an alert fires
	require.True(h.t, err == nil || strings.Contains(string(out), "got:"), "%v: %s", err, out)
	for _, m := range alertName.FindAllStringSubmatch(string(out), -1) {
		alerts = append(alerts, m[1])
	}
	for name := range strings.FieldsSeq(a.repeated) {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.Alert == name })
		require.GreaterOrEqual(h.t, i, 0, "there is no alert %s", name)
		require.Regexp(h.t, ofEvents, rules[i].Expr, "%s is no alert about events", name)
		alerts = append(alerts, name)
	}
	slices.SortFunc(alerts, func(a, b string) int { // in the order of the rules
		return slices.IndexFunc(rules, func(r rule) bool { return r.Alert == a }) -
			slices.IndexFunc(rules, func(r rule) bool { return r.Alert == b })
	})
	return slices.Compact(alerts), true
}
