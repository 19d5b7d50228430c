package docs

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
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

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

var updateMetrics = flag.Bool("docs.update-metrics", false, "write the index of METRICS.md, instead of comparing it")

// metric is one row of the index.
type metric struct {
	kind, help string
	labels     map[string]bool
	alerts     []string
}

// The index of METRICS.md has every metric that the servers of an ensemble export, by their own words, and the alerts
// of deploy/prometheus that use it. No alert uses a metric that there is not.
func TestIndexOfMetrics(t *testing.T) {
	all := map[string]*metric{}
	for _, text := range exported(t) {
		readMetrics(text, all)
	}
	for alert, expression := range alertsOf(t) {
		used := 0
		for _, name := range regexp.MustCompile(`[a-z][a-z_0-9]{3,}`).FindAllString(expression, -1) {
			for _, suffix := range []string{"", "_sum", "_count", "_bucket"} {
				m := all[strings.TrimSuffix(name, suffix)]
				if m == nil || !strings.HasSuffix(name, suffix) {
					continue
				}
				used++
				if !slices.Contains(m.alerts, alert) {
					m.alerts = append(m.alerts, alert)
				}
				break
			}
		}
		require.True(t, used > 0 || alert == "ServerDown", "%s uses no metric of a server: %s", alert, expression)
	}

	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning | alert |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		labels := slices.Sorted(maps.Keys(m.labels))
		for i := range labels {
			labels[i] = "`" + labels[i] + "`"
		}
		slices.Sort(m.alerts)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, m.kind, strings.Join(labels, ", "),
			strings.ReplaceAll(m.help, "|", `\|`), strings.Join(m.alerts, ", "))
	}
	const file, title = "../../docs/METRICS.md", "## Every metric\n"
	text := must.ReadFile(t, file)
	before, index, found := strings.Cut(string(text), title)
	require.True(t, found)
	intro, rows, found := strings.Cut(index, "| metric |")
	require.True(t, found)
	if *updateMetrics {
		require.NoError(t, os.WriteFile(file, []byte(before+title+intro+b.String()), 0o644))
		return
	}
	require.Greater(t, len(all), 150)
	want, have := strings.Split(b.String(), "\n"), strings.Split("| metric |"+rows, "\n")
	for i := range min(len(want), len(have)) {
		require.Equal(t, want[i], have[i], "go test ./test/docs -run IndexOfMetrics -docs.update-metrics")
	}
	require.Len(t, have, len(want))
}

// ofLibrary are metrics that libraries describe.
var ofLibrary = regexp.MustCompile(`^(go|process|promhttp)_`)

// readMetrics adds what is exported, but for the metrics of the libraries.
func readMetrics(text string, all map[string]*metric) {
	of := func(name string) *metric {
		if all[name] == nil {
			all[name] = &metric{labels: map[string]bool{}}
		}
		return all[name]
	}
	label := regexp.MustCompile(`([a-z_]+)="`)
	last := ""
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(words) == 4 && words[0] == "#" {
			last = words[2]
		}
		if ofLibrary.MatchString(last) {
			continue
		}
		switch {
		case words[0] == "#" && words[1] == "HELP":
			of(last).help = words[3]
		case words[0] == "#" && words[1] == "TYPE":
			of(last).kind = words[3]
		default:
			series, _, _ := strings.Cut(line, "} ")
			for _, m := range label.FindAllStringSubmatch(series, -1) {
				if m[1] != "quantile" && m[1] != "le" {
					of(last).labels[m[1]] = true
				}
			}
		}
	}
}

// alertsOf returns the expressions of the alerts in deploy/prometheus.
func alertsOf(t *testing.T) map[string]string {
	t.Helper()
	text := must.ReadFile(t, "../../deploy/prometheus/warren.rules.yml")
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	all := map[string]string{}
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			all[r.Alert] = r.Expr
		}
	}
	require.Greater(t, len(all), 25)
	return all
}

// exported is what a leader, a follower and an observer export, with everything switched on that has metrics of its
// own, and what a backup writes.
func exported(t *testing.T) (texts []string) {
	t.Helper()
	files := pki.Files{Dir: t.TempDir(), CA: pki.NewCA("ca")}
	ports := cluster.FreePorts(t, 15)
	var lines strings.Builder
	for id := 1; id <= 3; id++ {
		role := "participant"
		if id == 3 {
			role = "observer"
		}
		p := ports[5*(id-1):]
		fmt.Fprintf(&lines, "server.%d=127.0.0.1:%d:%d:%s;127.0.0.1:%d\n", id, p[0], p[1], role, p[2])
		files.WriteKey(id, files.CA.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}}))
		files.WriteTrust(id, files.CA)
	}
	run := func(arguments ...string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", arguments...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
		return cmd
	}
	config := func(id int) string { return filepath.Join(files.Dir, fmt.Sprintf("zoo%d.cfg", id)) }
	clients := make([]string, 4)
	for id := 1; id <= 3; id++ {
		data := filepath.Join(files.Dir, fmt.Sprintf("data%d", id))
		require.NoError(t, os.Mkdir(data, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(data, "myid"), fmt.Appendf(nil, "%d\n", id), 0o600))
		p := ports[5*(id-1):]
		clients[id] = net.JoinHostPort("127.0.0.1", fmt.Sprint(p[2]))
		stores := ""
		for _, prefix := range []string{"ssl.", "ssl.quorum."} {
			stores += prefix + "keyStore.location=" + files.File("key", id, "pem") + "\n" +
				prefix + "trustStore.location=" + files.File("trust", id, "pem") + "\n"
		}
		require.NoError(t, os.WriteFile(config(id), fmt.Appendf(nil, `dataDir=%s
tickTime=500
initLimit=20
syncLimit=20
preAllocSize=64
enforceQuota=true
admin.serverAddress=127.0.0.1
admin.serverPort=%d
secureClientPort=%d
sslQuorum=true
warren.trace.endpoint=http://127.0.0.1:1/v1/traces
%s%s`, data, p[3], p[4], stores, lines.String()), 0o600))
		server := run("server", config(id))
		var output cluster.Output
		server.Stdout, server.Stderr = &output, &output
		require.NoError(t, server.Start())
		t.Cleanup(func() {
			_ = server.Process.Kill()
			_ = server.Wait()
			if t.Failed() {
				t.Logf("server %d: %s", id, output.String())
			}
		})
	}
	for id := 1; id <= 3; id++ {
		require.Eventually(t, func() bool { return cluster.ModeAt(clients[id]) != "" }, time.Minute,
			10*time.Millisecond, "server %d serves", id)
	}
	shell := run("shell", "-s", clients[1])
	shell.Stdin = strings.NewReader("create /app x\nsetquota -N 1 /app\nget /app\ncreate /app/beyond y\n")
	out, _ := shell.CombinedOutput()
	require.Contains(t, string(out), "Quota has exceeded : /app/beyond")
	backup := filepath.Join(files.Dir, "backup.prom")
	must.Output(t, run("backup", "create", filepath.Join(files.Dir, "backup"), "--config", config(1),
		"--metrics", backup))
	text := must.ReadFile(t, backup)
	texts = append(texts, string(text))
	for id := 1; id <= 3; id++ {
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		var body bytes.Buffer
		resp := must.Do(client.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[5*(id-1)+3])))(t)
		must.Do(io.Copy(&body, resp.Body))(t)
		resp.Body.Close()
		texts = append(texts, body.String())
	}
	return texts
}
