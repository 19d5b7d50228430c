// Package promtool has the alert rules of deploy/prometheus evaluated by promtool, which is a program of Prometheus:
// the package prometheus of Debian has it.
package promtool

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed94657493/warren/test/must"
)

// RulesFile has the alert rules, for packages in folders of test.
const RulesFile = "../../deploy/prometheus/warren.rules.yml"

// Rule is an alert rule.
type Rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// Rules are the alert rules, in the order of their file.
func Rules(t testing.TB) (all []Rule) {
	t.Helper()
	text := must.ReadFile(t, RulesFile)
	var file struct{ Groups []struct{ Rules []Rule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// Series are the samples of a metric, as promtool writes them.
type Series struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// Sample is what an expression is to have.
type Sample struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// Expr is an expression that is evaluated at one time, which begins at 0.
type Expr struct {
	Expr     string   `yaml:"expr"`
	EvalTime string   `yaml:"eval_time"`
	Samples  []Sample `yaml:"exp_samples"`
}

// Test is one test of promtool.
type Test struct {
	Name     string   `yaml:"name"`
	Interval string   `yaml:"interval"` // between samples
	Series   []Series `yaml:"input_series"`
	Exprs    []Expr   `yaml:"promql_expr_test"`
}

// File is a file of tests of promtool.
type File struct {
	RuleFiles []string `yaml:"rule_files"`
	Interval  string   `yaml:"evaluation_interval"`
	Tests     []Test   `yaml:"tests"`
}

// Installed reports whether there is a promtool.
func Installed() bool {
	_, err := exec.LookPath("promtool")
	return err == nil
}

// run runs promtool, or skips the test.
func run(t testing.TB, arguments ...string) (out string, err error) {
	t.Helper()
	if !Installed() {
		t.Skip("promtool is not installed; Debian's package prometheus has it")
	}
	text, err := exec.Command("promtool", arguments...).CombinedOutput()
	return string(text), err
}

// Valid wants the alert rules to be valid.
func Valid(t testing.TB) {
	t.Helper()
	out, err := run(t, "check", "rules", RulesFile)
	require.NoError(t, err, out)
}

// Pass wants tests to pass.
func Pass(t testing.TB, file File) {
	t.Helper()
	out, err := run(t, "test", "rules", written(t, file))
	require.NoError(t, err, out)
}

func written(t testing.TB, file File) string {
	t.Helper()
	text := must.Do(yaml.Marshal(file))(t)
	path := filepath.Join(t.TempDir(), "tests.yml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

var alertName = regexp.MustCompile(`alertname="(\w+)"`)

// Firing are the alerts that fire at the end of series, or have fired at any time if ever, in the order of the rules.
// The series have a sample for each interval; the rules are evaluated as often as every says.
func Firing(t testing.TB, all []Series, interval, every, lasts time.Duration, ever bool) (alerts []string) {
	t.Helper()
	rules := must.Abs(t, RulesFile)
	expr := `group by (alertname) (ALERTS{alertstate="firing"})`
	if ever {
		expr = fmt.Sprintf(`group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[%ds]))`,
			int(lasts.Seconds()))
	}
	out, err := run(t, "test", "rules", written(t, File{[]string{rules}, every.String(), []Test{
		{Interval: interval.String(), Series: all, Exprs: []Expr{{expr, lasts.String(), nil}}}}}))
	require.True(t, err == nil || strings.Contains(out, "got:"), "%v: %s", err, out) // it fails if there is one
	for _, m := range alertName.FindAllStringSubmatch(out, -1) {
		alerts = append(alerts, m[1])
	}
	InOrder(t, alerts)
	return slices.Compact(alerts)
}

// InOrder sorts alerts in the order of the rules.
func InOrder(t testing.TB, alerts []string) {
	t.Helper()
	rules := Rules(t)
	slices.SortFunc(alerts, func(a, b string) int {
		return slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == a }) -
			slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == b })
	})
}

// Named is a metric, which may have labels, with the labels of its target.
func Named(metric string, labels map[string]string) string {
	name, own, _ := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
	all := []string{}
	if own != "" {
		all = append(all, own)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, fmt.Sprintf("%s=%q", key, labels[key]))
	}
	return name + "{" + strings.Join(all, ",") + "}"
}
