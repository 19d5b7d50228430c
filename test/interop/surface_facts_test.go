//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// facts is what two servers were found to say, ZooKeeper's first: "where: what", with values turned into types.
type facts struct {
	t    *testing.T
	said [2]map[string]bool
}

func newFacts(t *testing.T) *facts {
	return &facts{t: t, said: [2]map[string]bool{{}, {}}}
}

func (f *facts) add(side int, where, what string) { f.said[side][where+": "+what] = true }

// exact keeps the text as it is.
func (f *facts) exact(side int, where, text string) { f.add(side, where, strconv.Quote(text)) }

// Values and their types. The first that matches wins.
var types = []struct {
	value *regexp.Regexp
	name  string
}{
	{regexp.MustCompile(`\w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}`), "<date>"},
	{regexp.MustCompile(`(/|^)?127\.0\.0\.1:\d+`), "$1<addr>"},
	{regexp.MustCompile(`ersion: \d+\.\d+\.\d+.*`), "ersion: <version>"},
	{regexp.MustCompile(`^zookeeper\.version=\d+\.\d+\.\d+.*`), "zookeeper.version=<version>"},
	{regexp.MustCompile(`^(dataDir|dataLogDir|host\.name|java\.[\w.]+|os\.\w+|user\.\w+)=.*`), "$1=<text>"},
	{regexp.MustCompile(`=\d+MB$`), "=<megabytes>"},
	{regexp.MustCompile(`\b0x[0-9a-f]+`), "<hex>"},
	{regexp.MustCompile(`\d+\.\d{1,4}\b`), "<decimal>"},
	{regexp.MustCompile(`-?\b\d+`), "<int>"},
}

// text is the lines of a text, each once, with types in the place of values.
func (f *facts) text(side int, where, text string) {
	for line := range strings.Lines(text) {
		for _, v := range types {
			line = v.value.ReplaceAllString(line, v.name)
		}
		f.add(side, where, strconv.Quote(line))
	}
}

// json is the keys of an answer and the types of their values.
func (f *facts) json(side int, where, header, body string) {
	f.add(side, where, header)
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	require.NoError(f.t, d.Decode(&v), "%s: %s", where, body)
	f.value(side, where, "", v)
}

// Keys of objects that are data.
var dataKey = regexp.MustCompile(`^(-?\d+|/.*)$`)

func (f *facts) value(side int, where, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		f.add(side, where, at+" object")
		for key, value := range v {
			if dataKey.MatchString(key) {
				key = "*"
			}
			f.value(side, where, at+"."+key, value)
		}
	case []any:
		f.add(side, where, at+" array")
		for _, value := range v {
			f.value(side, where, at+"[]", value)
		}
	case json.Number:
		f.add(side, where, at+" "+typeOf(v.String()))
	case string:
		f.add(side, where, at+" text")
	case nil:
		f.add(side, where, at+" null")
	default:
		f.add(side, where, fmt.Sprintf("%s %T", at, v))
	}
}

func typeOf(value string) string {
	switch {
	case number(value):
		return "int"
	case regexp.MustCompile(`^-?\d+\.\d{1,4}$`).MatchString(value):
		return "decimal"
	}
	return "text"
}

// flatJSON is a flat object as lines of key=value.
func flatJSON(body string) string {
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var all map[string]any
	_ = d.Decode(&all) // what is missing shows in the comparison
	for key, value := range all {
		fmt.Fprintf(&b, "%s=%v\n", key, value)
	}
	return b.String()
}

// gauges38 is the names that 3.8 registers as gauges; other plain numbers are counters.
var gauges38 = strings.Fields(
	`ephemerals_count num_alive_connections avg_latency outstanding_requests znode_count
	global_sessions non_mtls_remote_conn_count last_client_response_size packets_sent packets_received
	max_client_response_size connection_drop_probability watch_count auth_failed_count min_latency
	max_file_descriptor_count approximate_data_size open_file_descriptor_count local_sessions uptime max_latency
	outstanding_tls_handshake min_client_response_size non_mtls_local_conn_count`)

// Values of mntr that must be the same on both servers in the same state.
var equalValues = regexp.MustCompile(`^(server_state|ephemerals_count|znode_count|global_sessions|watch_count|` +
	`approximate_data_size|local_sessions|auth_failed_count|outstanding_requests|app_quota_.*|` +
	`connection_request_count|connection_drop_count|connection_rejected|connection_revalidate_count|` +
	`sessionless_connections_expired|stale_sessions_expired|watch_bytes|response_bytes|` +
	`(min|max)_client_response_size|(cnt|sum)_node_\w+_watch_count|` +
	`cnt_(readlatency|updatelatency|propagation_latency)|proposal_count)$`)

// Values that must not stay 0 in an ensemble if they do not in ZooKeeper's.
var happens = regexp.MustCompile(`^(looking_count|(proposal|commit|diff|snap|revalidate)_count|` +
	`learner_\w+_received_count|quorum_size|learners|synced_\w+|leader_uptime|\w+_proposal_size|` +
	`cnt_(election_time|\w+_sync_time|\w*unavailable_time|inflight_\w+|quorum_ack_latency|proposal_\w+latency|` +
	`commit_propagation_latency|\d+_ack_latency|propagation_latency|fsynctime|updatelatency|readlatency))$`)

var summaryPart = regexp.MustCompile(`^(avg|min|max|cnt|sum|p50|p95|p99|p999)_(.+)$`)

// monitor is mntr or monitor as lines of key=value: metrics with their kind, from the shape of their lines.
func (f *facts) monitor(side int, where, text string) {
	plain := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			plain[key] = value
		}
	}
	parts := map[string][]string{}
	for key, value := range plain {
		if m := summaryPart.FindStringSubmatch(key); m != nil && plain["cnt_"+m[2]] != "" {
			parts[m[2]] = append(parts[m[2]], m[1]+" "+typeOf(value))
		} else {
			f.add(side, "metric", key+" "+f.kind(key, value))
		}
		switch {
		case where == "mntr" || where == "monitor":
			if equalValues.MatchString(key) {
				f.add(side, "value in "+where, key+"="+value)
			}
		case happens.MatchString(key) && strings.Trim(value, "-0.") != "":
			if key == "snap_count" || key == "diff_count" {
				key = "snap_count or diff_count" // which of them depends on which server is there first
			}
			f.add(side, where, key+" is not 0")
		}
	}
	for name, lines := range parts {
		slices.Sort(lines)
		kind := strings.Join(lines, ", ")
		switch kind {
		case basicLines:
			kind = "basic summary"
		case advancedLines:
			kind = "advanced summary"
		}
		f.add(side, "metric", name+" "+kind)
	}
}

const (
	basicLines    = "avg decimal, cnt int, max int, min int, sum int"
	advancedLines = "avg decimal, cnt int, max int, min int, p50 int, p95 int, p99 int, p999 int, sum int"
)

func (f *facts) kind(name, value string) string {
	switch {
	case name == "command" || name == "error" || name == "version" || name == "server_state":
		return "text"
	case slices.Contains(gauges38, name), strings.Contains(name, "_quota_"):
		return "gauge " + typeOf(value)
	}
	return "counter " + typeOf(value)
}

// exporter holds Warren's exporter to the metrics that ZooKeeper's monitor has: each must be there in its kind. It
// adds what it has to what Warren says in monitor.
func (f *facts) exporter(body string) {
	kinds := map[string]string{}
	quantiles := map[string]int{}
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			kinds[name] = kind
		}
		if name, rest, ok := strings.Cut(line, "{"); ok && strings.Contains(rest, `quantile="`) {
			quantiles[name]++
		}
	}
	for said := range maps.Keys(f.said[1]) {
		what, ok := strings.CutPrefix(said, "metric: ")
		if !ok {
			continue
		}
		name, kind, _ := strings.Cut(what, " ")
		if kind == "text" {
			continue
		}
		if i := strings.Index(name, "_quota_"); i > 0 {
			name = name[i+1:]
		}
		if strings.HasPrefix(name, "connections_refused_") {
			name = "warren_server_connections_refused_total" // the reason is a label
		}
		got := kinds[name]
		switch {
		case got == "summary" && quantiles[name] == 1:
			got = "basic summary"
		case got == "summary" && quantiles[name] == 4:
			got = "advanced summary"
		default:
			kind, _, _ = strings.Cut(kind, " ")
		}
		require.Equal(f.t, kind, got, "the exporter's %s", name)
	}
}

// properties is the names of system_properties that are ZooKeeper's.
func (f *facts) properties(side int, body string) {
	var all map[string]any
	require.NoError(f.t, json.Unmarshal([]byte(body), &all))
	for key, value := range all {
		if !strings.HasPrefix(key, "java.") && !strings.HasPrefix(key, "sun.") && !strings.HasPrefix(key, "jdk.") {
			f.add(side, "system property", fmt.Sprintf("%s %T", key, value))
		}
	}
}

// compare fails on every difference that is not intended, and on every intention that has become untrue.
func (f *facts) compare(differences []surfaceDifference) {
	used := map[int]bool{}
	var report bytes.Buffer
	for side, name := range []string{"ZooKeeper", "Warren"} {
		for _, said := range slices.Sorted(maps.Keys(f.said[side])) {
			if f.said[1-side][said] {
				continue
			}
			i := slices.IndexFunc(differences,
				func(d surfaceDifference) bool { return d.side == side && d.what.MatchString(said) })
			if i < 0 {
				fmt.Fprintf(&report, "only %s says %s\n", name, said)
				continue
			}
			used[i] = true
		}
	}
	if report.Len() > 0 {
		f.t.Errorf("differences without a reason:\n%s", report.String())
	}
	for i, d := range differences {
		if !used[i] && !d.rare {
			f.t.Errorf("no difference is explained by %s (%s): take it out", d.what, d.reason)
		}
	}
}
