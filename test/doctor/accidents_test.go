package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

var writeAccidents = flag.Bool("doctor.accidents", false, "write the table of accidents of docs/TROUBLESHOOTING.md")

// The table of accidents lies between these lines of the page.
const (
	accidentsBegin = "<!-- accidents: written by go test ./test/doctor -run TestAccidents -doctor.accidents -->\n"
	accidentsEnd   = "<!-- end of accidents -->\n"
)

// rulesFile has the alerts.
const rulesFile = "../../deploy/prometheus/warren.rules.yml"

// accident is something that is done to three servers, of which the first one leads.
type accident struct {
	name  string
	begin func(h *hosts)
	end   func(h *hosts)
	// finds are the findings that every surface must have, with their severities, and no other above notice.
	finds map[string]doctor.Severity
	silent
	status int    // exit code of warren status
	alerts string // that fire in it, by the names of the rules
}

// silent are the servers that cannot be asked.
type silent []int

// shown is what the surfaces show at one moment: the findings of each, by the name of the surface.
type shown struct {
	findings map[string]map[string]doctor.Severity
	code     int            // of status
	readyz   map[int]int    // status by server
	texts    []string       // of what is found, as a server tells it
	missing  map[string]any // surfaces that did not answer, and why
}

// get asks the admin port of a server.
func (h *hosts) get(i int, path string) (status int, body string, err error) {
	host, _, err := net.SplitHostPort(h.nodes[i].Addr())
	require.NoError(h.t, err)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + net.JoinHostPort(host, h.port) + path)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, string(text), err
}

var (
	readyzLine  = regexp.MustCompile(`(?m)^(notice|warning|error|critical): (.*)$`)
	findingLine = regexp.MustCompile(`(?m)^warren_finding\{(.*)\} 1$`)
	label       = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// look asks every surface of all servers that can be asked. What is of the machine is left out, and so is what is a
// notice, unless the accident wants it.
func (h *hosts) look(a *accident) *shown {
	s := &shown{findings: map[string]map[string]doctor.Severity{}, readyz: map[int]int{}, missing: map[string]any{}}
	add := func(surface, check, severity string) {
		var x doctor.Severity
		require.NoError(h.t, x.UnmarshalText([]byte(severity)))
		_, wanted := a.finds[check]
		if slices.Contains(ofTheMachine, check) || x == doctor.Notice && !wanted {
			return
		}
		s.findings[surface][check] = max(x, s.findings[surface][check])
	}
	for _, command := range []string{"doctor", "status"} {
		args := []string{command, "--output", "json", "--admin-port", h.port, "--timeout", "2s"}
		for _, n := range h.nodes {
			args = append(args, n.Addr())
		}
		var v visit
		text, code := h.run(args...)
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			s.missing[command] = err
			continue
		}
		s.findings[command] = map[string]doctor.Severity{}
		for _, f := range v.Findings {
			add(command, f.Check, f.Severity.String())
		}
		if command == "status" {
			s.code = code
		}
	}
	for i := range h.nodes {
		if slices.Contains(a.silent, i) {
			continue
		}
		api, readyz := fmt.Sprintf("API %d", i), fmt.Sprintf("readyz %d", i)
		metrics, log := fmt.Sprintf("metrics %d", i), fmt.Sprintf("log %d", i)
		for _, surface := range []string{api, readyz, metrics, log} {
			s.findings[surface] = map[string]doctor.Severity{}
		}
		code, text, err := h.get(i, "/readyz")
		if err != nil {
			s.missing[readyz] = err
		}
		s.readyz[i] = code
		told := readyzLine.FindAllStringSubmatch(text, -1)
		code, text, err = h.get(i, "/api/v1/ensemble")
		var e struct {
			Problems []struct{ Severity, Check, Text string }
		}
		if err != nil || code != http.StatusOK || json.Unmarshal([]byte(text), &e) != nil {
			s.missing[api] = fmt.Sprint(code, err)
		}
		for _, p := range e.Problems {
			add(api, p.Check, p.Severity)
			if severity, wanted := a.finds[p.Check]; wanted && severity.String() == p.Severity {
				s.texts = append(s.texts, p.Check+"\x00"+p.Text)
			}
			// readyz tells texts, not the names of checks; the same text belongs to the same check.
			if slices.ContainsFunc(told, func(m []string) bool { return m[1] == p.Severity && m[2] == p.Text }) {
				add(readyz, p.Check, p.Severity)
			}
			// The log tells a finding once a minute, in the words of that moment.
			if line := fmt.Sprintf(`{"check": %q, "severity": %q`, p.Check, p.Severity); strings.Contains(
				h.logOf(h.nodes[i]), line) {
				add(log, p.Check, p.Severity)
			}
		}
		if _, text, err = h.get(i, "/metrics"); err != nil {
			s.missing[metrics] = err
		}
		for _, m := range findingLine.FindAllStringSubmatch(text, -1) {
			labels := map[string]string{}
			for _, l := range label.FindAllStringSubmatch(m[1], -1) {
				labels[l[1]] = l[2]
			}
			add(metrics, labels["check"], labels["severity"])
		}
	}
	return s
}

// run runs a command and returns what it writes, and its exit code.
func (h *hosts) run(args ...string) (string, int) {
	cmd := exec.Command(cluster.Binary(h.t), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	require.True(h.t, err == nil || errors.As(err, &ended), "%v: %v", args, err)
	return out.String(), cmd.ProcessState.ExitCode()
}

// logOf is what a server has logged since the accident began.
func (h *hosts) logOf(n *cluster.Node) string {
	text := n.Log()
	return text[min(h.logged[n], len(text)):]
}

// agrees reports what is not as the accident wants it; empty if all is.
func (s *shown) agrees(a *accident) (wrong []string) {
	for surface, err := range s.missing {
		wrong = append(wrong, fmt.Sprintf("%s does not answer: %v", surface, err))
	}
	for _, surface := range slices.Sorted(maps.Keys(s.findings)) {
		want := maps.Clone(a.finds)
		if strings.HasPrefix(surface, "log ") { // it does not tell notices
			maps.DeleteFunc(want, func(_ string, x doctor.Severity) bool { return x == doctor.Notice })
			maps.DeleteFunc(s.findings[surface], func(_ string, x doctor.Severity) bool { return x == doctor.Notice })
		}
		if !maps.Equal(want, s.findings[surface]) {
			wrong = append(wrong, fmt.Sprintf("%s has %v, not %v", surface, s.findings[surface], want))
		}
	}
	if s.code != a.status {
		wrong = append(wrong, fmt.Sprintf("status ends with %d, not %d", s.code, a.status))
	}
	return wrong
}

// until waits until all surfaces agree with what is wanted.
func (h *hosts) until(a *accident) *shown {
	h.t.Helper()
	var wrong []string
	for watch := cluster.NewWatch(); watch.Elapsed() < patience; {
		s := h.look(a)
		if wrong = s.agrees(a); len(wrong) == 0 {
			return s
		}
	}
	require.Empty(h.t, wrong, a.name)
	return nil
}

var (
	address   = regexp.MustCompile(`127\.0\.0\.\d+:\d+`)
	serverIDs = regexp.MustCompile(`\bservers? \d+(, \d+)*`)
	digits    = regexp.MustCompile(`\d+`)
	ensembles = regexp.MustCompile(`\bensemble [0-9a-f]{16}`)
	epochs    = regexp.MustCompile(`\bepochs( \d+ \(led by \d+\))+`)
	zxids     = regexp.MustCompile(`\b0x[0-9a-f]+`)
)

// row is the line of the table. What differs from one run to the next is replaced by letters.
func (s *shown) row(a *accident) string {
	said := map[string]string{}
	for _, text := range s.texts {
		check, what, _ := strings.Cut(text, "\x00")
		what = serverIDs.ReplaceAllStringFunc(what, func(ids string) string {
			return digits.ReplaceAllString(ids, "N")
		})
		what = ensembles.ReplaceAllString(epochs.ReplaceAllString(what, "epochs LIST"), "ensemble ID")
		what = address.ReplaceAllString(zxids.ReplaceAllString(what, "ZXID"), "HOST:PORT")
		if said[check] == "" || what < said[check] {
			said[check] = what
		}
	}
	checks := slices.SortedFunc(maps.Keys(a.finds), func(x, y string) int {
		return 2*int(a.finds[y]-a.finds[x]) + strings.Compare(x, y)
	})
	var findings, metrics, levels []string
	for _, check := range checks {
		severity := a.finds[check]
		findings = append(findings, fmt.Sprintf("%s `%s`: %s", severity, check, said[check]))
		metrics = append(metrics, fmt.Sprintf("`check=%q`", check))
		level := map[doctor.Severity]string{doctor.Warning: "WARN", doctor.Error: "ERROR",
			doctor.Critical: "ERROR"}[severity]
		if level == "" {
			level = "no line: it is a notice"
		}
		if !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
	}
	var codes []string
	for _, code := range s.readyz {
		if text := strconv.Itoa(code); !slices.Contains(codes, text) {
			codes = append(codes, text)
		}
	}
	slices.Sort(codes)
	alerts := []string{}
	for alert := range strings.FieldsSeq(a.alerts) {
		alerts = append(alerts, "`"+alert+"`")
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %s | %s | %s |\n", a.name, strings.Join(findings, "; "), s.code,
		strings.Join(codes, ", "), strings.Join(levels, ", "), strings.Join(metrics, ", "),
		strings.Join(alerts, ", "))
}

// TestAccidents makes accidents and wants every surface of every server that can be asked to tell the same, and to
// tell nothing any more when the accident is over. What they tell is the table of docs/TROUBLESHOOTING.md.
func TestAccidents(t *testing.T) {
	super := map[string]string{
		"DigestAuthenticationProvider.superDigest": auth.DigestIdentity("super:secret").ID,
	}
	h := newHosts(t, super, super, super)
	lines := map[string]string{} // with client ports, at which the servers ask each other
	for _, n := range h.nodes {
		key, value, _ := strings.Cut(n.Line(), "=")
		lines[key] = value
	}
	for _, n := range h.nodes {
		n.Set(lines)
	}
	h.start(h.nodes...)
	c, err := wire.Dial(h.nodes[0].Addr(), wire.Options{TimeoutMs: 10_000})
	require.NoError(t, err)
	_, err = c.Create("/n", nil, proto.ModePersistent)
	require.NoError(t, err)
	c.Close()
	strangers := map[*cluster.Node]string{} // what each had in another ensemble
	for _, n := range h.nodes {
		n.Stop()
		strangers[n] = n.CopyData()
	}
	for _, n := range h.nodes {
		n.Wipe()
	}
	h.start(h.nodes...)

	again := func(some ...int) func(h *hosts) {
		return func(h *hosts) {
			for _, i := range some {
				h.nodes[i].Launch()
			}
		}
	}
	var copies []string
	accidents := []accident{
		{"a voter is dead; no other may fail", func(h *hosts) { h.nodes[2].Kill() }, again(2),
			map[string]doctor.Severity{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{2}, 1,
			"ServerDown NoSpareVoter"},
		{"the majority is dead, seen from the survivor", func(h *hosts) { h.nodes[1].Kill(); h.nodes[2].Kill() },
			again(1, 2), map[string]doctor.Severity{"no-quorum": doctor.Critical, "unreachable": doctor.Error,
				"not-serving": doctor.Error}, silent{1, 2}, 2, "ServerDown NobodyServes"},
		{"the leader stands still or is cut off; another leads", func(h *hosts) { h.nodes[0].Pause() },
			func(h *hosts) { h.nodes[0].Resume() },
			map[string]doctor.Severity{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{0}, 1,
			"ServerDown NoSpareVoter"},
		{"a server is drained", func(h *hosts) { h.drain(2) }, func(h *hosts) { h.drain(2, "--resume") },
			map[string]doctor.Severity{"drained": doctor.Notice}, nil, 0, "StillDrained"},
		{"a disk is full", func(h *hosts) { h.again(2, "1000000000000000") }, func(h *hosts) { h.again(2, "0") },
			map[string]doctor.Severity{"disk-full": doctor.Error}, nil, 1, "DiskAlmostFull"},
		{"a directory of another ensemble", func(h *hosts) {
			h.nodes[2].Stop()
			h.nodes[2].PutData(strangers[h.nodes[2]])
			h.nodes[2].Launch()
		}, func(h *hosts) {
			h.nodes[2].Kill()
			h.nodes[2].Wipe()
			h.nodes[2].Launch()
		}, map[string]doctor.Severity{"outside": doctor.Critical, "no-spare": doctor.Error}, nil, 1,
			"OutsideTheEnsemble HistoriesDiffer NoSpareVoter"},
		{"the databases of a majority are missing", func(h *hosts) {
			for _, n := range h.nodes {
				n.Stop()
			}
			for _, n := range h.nodes[:2] {
				copies = append(copies, n.CopyData())
				n.Wipe()
			}
			again(0, 1, 2)(h)
		}, func(h *hosts) {
			for _, n := range h.nodes {
				n.Kill()
			}
			for i, n := range h.nodes[:2] {
				n.PutData(copies[i])
			}
			again(0, 1, 2)(h)
		}, map[string]doctor.Severity{"databases-missing": doctor.Critical, "blank": doctor.Warning},
			nil, 2, "DatabasesLost NobodyServes"},
	}
	rules, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	table := "| accident | findings at every surface | exit code of `status` | `/readyz` | log | `warren_finding` | " +
		"alerts |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	none := &accident{name: "no accident"}
	h.until(none)
	for i := range accidents {
		a := &accidents[i]
		h.nodes = leaderFirst(t, h.nodes)
		for alert := range strings.FieldsSeq(a.alerts) {
			require.Contains(t, string(rules), "- alert: "+alert+"\n", a.name)
		}
		h.logged = map[*cluster.Node]int{}
		for _, n := range h.nodes {
			h.logged[n] = len(n.Log())
		}
		watch := cluster.NewWatch()
		a.begin(h)
		s := h.until(a)
		began := watch.Elapsed()
		a.end(h)
		h.until(none)
		t.Logf("%s: told after %v, over after %v", a.name, began, watch.Elapsed()-began)
		table += s.row(a)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), accidentsBegin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, accidentsEnd)
	require.True(t, found)
	if *writeAccidents {
		text := before + accidentsBegin + "\n" + table + "\n" + accidentsEnd + after
		require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
		return
	}
	require.Equal(t, strings.TrimSpace(old), strings.TrimSpace(table))
}

// drain drains a server, or lets it take clients again.
func (h *hosts) drain(i int, flags ...string) {
	h.t.Helper()
	host, _, err := net.SplitHostPort(h.nodes[i].Addr())
	require.NoError(h.t, err)
	secret := filepath.Join(h.t.TempDir(), "auth")
	require.NoError(h.t, os.WriteFile(secret, []byte("digest super:secret\n"), 0o600))
	text, code := h.run(append([]string{"drain", "--auth-file", secret,
		"--admin", "http://" + net.JoinHostPort(host, h.port) + "/commands"}, flags...)...)
	require.Zero(h.t, code, text)
}

// again restarts a server with another warren.diskWatermarkBytes.
func (h *hosts) again(i int, watermark string) {
	h.nodes[i].Stop()
	h.nodes[i].Set(map[string]string{"warren.diskWatermarkBytes": watermark})
	h.nodes[i].Launch()
}
