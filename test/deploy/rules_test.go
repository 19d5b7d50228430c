package deploy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/page"
	"github.com/seed94657493/warren/test/promtool"
)

var update = flag.Bool("update", false, "write deploy/prometheus/warren.rules.yml and the table of docs/METRICS.md")

// others are the alerts that tell of no finding of this version.
func others() []findings.Alert {
	var known []string
	for _, k := range findings.Kinds() {
		known = append(known, k.Check)
	}
	const slow, alerts = "runbooks/find-what-is-slow.md", "METRICS.md#alert-on-these"
	return []findings.Alert{
		{Name: "VoterMissing", Severity: findings.Warning, For: 10 * time.Minute,
			Expr: "synced_followers < quorum_size - 1 and (warren_zab_spare_voters > 0 or (synced_followers > " +
				"floor(quorum_size / 2) unless warren_zab_spare_voters))",
			When:    "a voter is not in sync; there are others to spare",
			Summary: "the leader {{ $labels.instance }} has only {{ $value }} followers in sync",
			Do:      "A voter is down, cut off or far behind. Find it with warren status.",
			Page:    "runbooks/replace-a-disk.md"},
		{Name: "ElectionsRepeat", Severity: findings.Warning,
			Expr:    "increase(looking_count[1h]) > 8",
			When:    "more than 8 searches for a leader within an hour",
			Summary: "{{ $labels.instance }} has looked for a leader {{ $value | humanize }} times within an hour",
			Do: "Writes stop during each election. Look for a slow disk, long pauses of a process, or packet loss " +
				"between the servers.", Page: slow},
		{Name: "Unavailable", Severity: findings.Warning,
			Expr:    "increase(unavailable_time_sum[1h]) > 60000",
			When:    "more than a minute of the last hour without a quorum",
			Summary: "{{ $labels.instance }} was without a quorum for {{ $value | humanize }} ms of the last hour",
			Do: "looking_count and election_time tell how often the server looked for a leader, and for how " +
				"long.",
			Page: slow},
		{Name: "LearnersLoadSnapshots", Severity: findings.Warning,
			Expr:    "increase(snap_count[15m]) > 2",
			When:    "the leader sends whole snapshots again and again",
			Summary: "{{ $labels.instance }} sends whole snapshots to its learners",
			Do: "A learner that comes back needs more txns than the leader has kept. Raise commitLogCount or " +
				"snapshotSizeFactor.", Page: "CONFIGURATION.md"},
		{Name: "SlowWrites", Severity: findings.Warning, For: 10 * time.Minute,
			Expr:    "rate(updatelatency_sum[5m]) / rate(updatelatency_count[5m]) > 100",
			When:    "a write takes more than 100 ms on average",
			Summary: "a write at {{ $labels.instance }} takes {{ $value | humanize }} ms",
			Do: "Compare the log's sync times, the requests in progress and the CPU; warren slow tells where the " +
				"time goes.", Page: slow},
		{Name: "SlowReads", Severity: findings.Warning, For: 10 * time.Minute,
			Expr:    "rate(readlatency_sum[5m]) / rate(readlatency_count[5m]) > 100",
			When:    "a read takes more than 100 ms on average",
			Summary: "a read at {{ $labels.instance }} takes {{ $value | humanize }} ms",
			Do:      "Reads need no disk: look at the CPU, the memory limit and very large replies.", Page: slow},
		{Name: "SlowSnapshot", Severity: findings.Warning,
			Expr:    "rate(snapshottime_sum[1h]) > 500",
			When:    "more than half of the time is spent on snapshots",
			Summary: "{{ $labels.instance }} spends {{ $value | humanize }} ms of every second on snapshots",
			Do:      "The disk of dataDir is slow, or snapCount is too low for this rate of writes.", Page: slow},
		{Name: "QuotaExceeded", Severity: findings.Warning,
			Expr:    "increase(quota_exceeded_error_per_namespace[5m]) > 0",
			When:    "a hard quota refuses writes",
			Summary: "a quota refuses writes below /{{ $labels.key }}",
			Do: "The hard quota of this subtree is used up. Raise it with setquota, or delete what is no longer " +
				"needed.", Page: "SHELL.md"},
		{Name: "WritesRefused", Severity: findings.Critical,
			Expr:    "increase(warren_server_writes_refused_total[5m]) > 0",
			When:    "the disks of a majority, or of a server that runs alone, are almost full",
			Summary: "{{ $labels.instance }} refuses writes for lack of disk space",
			Do: "The disks of a majority, or of a server that runs alone, are almost full. Writes resume by " +
				"themselves when there is room.", Page: "runbooks/full-disk.md"},
		{Name: "SlowOperations", Severity: findings.Warning, For: 5 * time.Minute,
			Expr: "rate(warren_server_slow_operations_total[5m]) > 1",
			When: "more than one operation a second above `warren.slow.threshold`",
			Summary: "{{ $labels.instance }} has {{ $value | humanize }} slow operations a second, slowest in the " +
				"stage {{ $labels.stage }}",
			Do: "warren slow lists the newest of them with the time of each stage.", Page: slow},
		{Name: "NoSnapshot", Severity: findings.Warning,
			Expr: "increase(warren_wal_append_txns_total[12h]) > 1000000 unless " +
				"increase(snapshottime_count[12h]) > 0",
			When:    "a million txns and no snapshot in twelve hours",
			Summary: "{{ $labels.instance }} has written no snapshot in twelve hours",
			Do: "A restart would replay more than {{ $value | humanize }} txns. Look at snapCount and at the " +
				"server's log.", Page: alerts},
		{Name: "LogLinesLost", Severity: findings.Warning,
			Expr:    "increase(warren_server_log_lines_lost_total[5m]) > 0",
			When:    "nobody reads the server's log, or its disk is full",
			Summary: "{{ $labels.instance }} cannot write its log",
			Do:      "Nobody reads its standard output and error, or the disk below them is full.", Page: alerts},
		{Name: "FindingLasts", Severity: findings.Warning, For: 15 * time.Minute,
			Expr: fmt.Sprintf("max by (job, ensemble, check, server, severity) (warren_finding{severity!=%q,"+
				"check!~%q}) == 1", "notice", strings.Join(known, "|")),
			When: "for 15 minutes, a server has had a finding that these rules don't know, because they are older " +
				"than the server",
			Summary: "{{ $labels.severity }} of {{ or $labels.ensemble $labels.job }}: {{ $labels.check }}" +
				"{{ if $labels.server }} at server {{ $labels.server }}{{ end }}",
			Do:   "warren status, /readyz and the log of any server say what is wrong, and what to do.",
			Page: "TROUBLESHOOTING.md"},
	}
}

const pages = "https://github.com/seed94657493/warren/blob/main/docs/"

// made are the alert rules, and by alert what the table of METRICS.md says: the severity, and when it fires.
func made() (rules []promtool.Rule, alerts []findings.Alert) {
	for _, k := range findings.Kinds() {
		for _, a := range k.Alerts {
			severity := word(a.Severity)
			if a.Expr == "" {
				a.Expr = findings.OfFindings(k.Check)
				a.Summary = "{{ with $labels.server }}server {{ . }} of {{ end }}{{ or $labels.ensemble $labels.job " +
					"}}: " +
					a.Summary
				severity = words(k.Severities)
			}
			rules, alerts = append(rules, rule(&a, severity)), append(alerts, a)
		}
	}
	for _, a := range others() {
		rules, alerts = append(rules, rule(&a, word(a.Severity))), append(alerts, a)
	}
	return rules, alerts
}

// word is the severity of an alert. One that is critical needs attention now.
func word(s findings.Severity) string {
	if s >= findings.Error {
		return "critical"
	}
	return "warning"
}

// either is the severity of an alert whose findings may be of either kind.
const either = `{{ if eq $labels.severity "warning" }}warning{{ else }}critical{{ end }}`

// words is the severity of an alert that tells of findings with these severities.
func words(all []findings.Severity) string {
	severity := ""
	for _, s := range all {
		if s == findings.Notice {
			continue
		}
		if severity != "" && severity != word(s) {
			return either
		}
		severity = word(s)
	}
	return severity
}

func rule(a *findings.Alert, severity string) promtool.Rule {
	r := promtool.Rule{Alert: a.Name, Expr: a.Expr, Labels: map[string]string{"severity": severity},
		Annotations: map[string]string{"summary": a.Summary, "description": a.Do, "runbook_url": pages + a.Page}}
	if a.For > 0 {
		r.For = strings.Replace(strings.TrimSuffix(a.For.String(), "0s"), "h0m", "h", 1)
	}
	return r
}

const head = "# Alerts for Warren. Those of the group zookeeper are for Apache ZooKeeper, too. Load the file with " +
	"rule_files in\n# prometheus.yml, and give the targets of each ensemble a label \"ensemble\" (docs/METRICS.md): " +
	"alerts carry it, and\n# several ensembles may then share a job. Each rule is tested with promtool, in its " +
	"accident and in all others.\n# Written from internal/findings by go test ./test/deploy -run TestRules " +
	"-update.\ngroups:\n"

// needsWarren reports whether a rule never fires for servers of ZooKeeper.
func needsWarren(expr string) bool {
	return strings.Contains(expr, "warren_") && !strings.Contains(expr, " unless warren_")
}

// text is the file of rules.
func text(t *testing.T, rules []promtool.Rule) string {
	var b strings.Builder
	b.WriteString(head)
	for _, group := range []string{"zookeeper", "warren"} {
		fmt.Fprintf(&b, "  - name: %s\n    rules:\n", group)
		for _, r := range rules {
			if needsWarren(r.Expr) != (group == "warren") {
				continue
			}
			fmt.Fprintf(&b, "      - alert: %s\n", r.Alert)
			b.WriteString(scalar(t, 8, "expr", r.Expr))
			if r.For != "" {
				b.WriteString(scalar(t, 8, "for", r.For))
			}
			b.WriteString("        labels:\n" + scalar(t, 10, "severity", r.Labels["severity"]))
			b.WriteString("        annotations:\n")
			for _, key := range []string{"summary", "description", "runbook_url"} {
				b.WriteString(scalar(t, 10, key, r.Annotations[key]))
			}
		}
	}
	return b.String()
}

// scalar is a key with a string in YAML, folded if it is long.
func scalar(t *testing.T, indent int, key, value string) string {
	t.Helper()
	const width = 118
	space := strings.Repeat(" ", indent)
	plain := must.Do(yaml.Marshal(map[string]string{key: value}))(t)
	if line := space + string(plain); len(line) <= width && strings.Count(line, "\n") == 1 {
		return line
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: >-\n", space, key)
	line := space + " "
	for w := range strings.SplitSeq(value, " ") {
		if len(line)+1+len(w) > width && strings.TrimSpace(line) != "" {
			b.WriteString(line + "\n")
			line = space + " "
		}
		line += " " + w
	}
	return b.String() + line + "\n"
}

// TestRules wants deploy/prometheus/warren.rules.yml and the table of METRICS.md to be what is made from the findings.
func TestRules(t *testing.T) {
	rules, alerts := made()
	want := text(t, rules)
	var table strings.Builder
	table.WriteString("| alert | severity | fires when | do |\n| --- | --- | --- | --- |\n")
	titles := map[string]string{}
	for i, r := range rules {
		severity := strings.ReplaceAll(r.Labels["severity"], either, "warning or critical")
		path, anchor, _ := strings.Cut(alerts[i].Page, "#")
		if titles[path] == "" {
			page := must.ReadFile(t, filepath.Join("..", "..", "docs", path))
			titles[path] = string(regexp.MustCompile(`(?m)^# (.*)$`).FindSubmatch(page)[1])
		}
		do := regexp.MustCompile(`\{\{.*?\}\} `).ReplaceAllString(alerts[i].Do, "")
		if path != "METRICS.md" {
			link := path
			if anchor != "" {
				link += "#" + anchor
			}
			do += fmt.Sprintf(" [%s](%s)", titles[path], link)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", r.Alert, severity, alerts[i].When, do)
	}
	const file = "../../docs/METRICS.md"
	if *update {
		require.NoError(t, os.WriteFile(promtool.RulesFile, []byte(want), 0o644))
		page.ReplaceTable(t, file, table.String())
		return
	}
	have := must.ReadFile(t, promtool.RulesFile)
	require.Equal(t, want, string(have), "go test ./test/deploy -run TestRules -update")
	metrics := must.ReadFile(t, file)
	require.Contains(t, string(metrics), "\n\n"+table.String()+"\n", "go test ./test/deploy -run TestRules -update")
	read := map[string]promtool.Rule{}
	for _, r := range promtool.Rules(t) {
		read[r.Alert] = r
	}
	require.Len(t, read, len(rules))
	for _, r := range rules {
		require.Equal(t, r, read[r.Alert])
	}
}
