package doctor

import (
	"bytes"
	"cmp"
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/test/cluster"
)

var writeAccidents = flag.Bool("doctor.accidents", false, "write the table of accidents of docs/TROUBLESHOOTING.md")

// The table of accidents lies between these lines of the page.
const (
	accidentsBegin = "<!-- accidents: written by go test ./test/doctor -run TestAccidents -doctor.accidents -->\n"
	accidentsEnd   = "<!-- end of accidents -->\n"
)

// scene is an ensemble, and the accidents that happen to it one after the other.
type scene struct {
	name string
	// open starts the servers. It skips the scene if this machine cannot have it.
	open      func(t *testing.T) *hosts
	accidents []accident
}

// accident is something that is done to the servers of a scene, of which the first one leads.
type accident struct {
	name  string
	begin func(h *hosts)
	end   func(h *hosts)
	// finds are the findings that every surface must have, with their severities, and no other above notice.
	finds map[string]doctor.Severity
	silent
	status   int    // exit code of warren status
	repeated string // alerts about events, which fire if it happens again and again; promtool finds the others
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
	alerts   []string       // that fire if it lasts; nil if nothing can tell
	client   string         // what a client is told that knows all servers
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

// problem is a finding as the API tells it.
type problem struct{ Severity, Check, Text string }

// problemsOf reads them from an answer about the ensemble.
func problemsOf(t *testing.T, text string) []problem {
	t.Helper()
	var e struct{ Problems []problem }
	require.NoError(t, json.Unmarshal([]byte(text), &e), text)
	return e.Problems
}

var (
	readyzLine  = regexp.MustCompile(`(?m)^(notice|warning|error|critical): (.*)$`)
	findingLine = regexp.MustCompile(`(?m)^warren_finding\{(.*)\} 1$`)
	label       = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// look asks every surface of all servers that can be asked, and the commands if those have all agreed. What is of the
// machine is left out, and so is what is a notice, unless the accident wants it.
func (h *hosts) look(a *accident) *shown {
	s := &shown{findings: map[string]map[string]doctor.Severity{}, readyz: map[int]int{}, missing: map[string]any{},
		code: a.status}
	h.lookAtServers(a, s)
	if len(s.agrees(a)) == 0 {
		h.lookByCommands(a, s)
	}
	return s
}

// add notes a finding of a surface.
func (s *shown) add(t *testing.T, a *accident, surface, check, severity string) {
	var x doctor.Severity
	require.NoError(t, x.UnmarshalText([]byte(severity)))
	_, wanted := a.finds[check]
	if !wanted && (slices.Contains(ofTheMachine, check) || x == doctor.Notice) {
		return
	}
	s.findings[surface][check] = max(x, s.findings[surface][check])
}

// lookByCommands asks doctor and status.
func (h *hosts) lookByCommands(a *accident, s *shown) {
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
			s.add(h.t, a, command, f.Check, f.Severity.String())
		}
		if command == "status" {
			s.code = code
			ills := slices.Collect(maps.Values(s.findings[command]))
			if code == 1 && !slices.ContainsFunc(ills, func(x doctor.Severity) bool { return x > doctor.Notice }) {
				s.code = 0 // what is of the machine counts there
			}
		}
	}
}

// lookAtServers asks the servers.
func (h *hosts) lookAtServers(a *accident, s *shown) {
	add := func(surface, check, severity string) { s.add(h.t, a, surface, check, severity) }
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
		if err != nil || code != http.StatusOK {
			s.missing[api] = fmt.Sprint(code, err)
			continue
		}
		for _, p := range problemsOf(h.t, text) {
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

// agreement bounds the wait until all surfaces agree, and lookEvery is how often they are asked meanwhile.
const agreement, lookEvery = 3 * time.Minute, 200 * time.Millisecond

// until waits until all surfaces agree with what is wanted.
func (h *hosts) until(a *accident) *shown {
	h.t.Helper()
	var wrong []string
	for watch := cluster.NewWatch(); watch.Elapsed() < agreement; time.Sleep(lookEvery) {
		s := h.look(a)
		h.scraped.scrape(h)
		if wrong = s.agrees(a); len(wrong) == 0 {
			return s
		}
	}
	require.Empty(h.t, wrong, a.name)
	return nil
}

var (
	address   = regexp.MustCompile(`127\.0\.0\.\d+:\d+`)
	serverIDs = regexp.MustCompile(`\bservers? \d+(, \d+)*( and \d+)?`)
	digits    = regexp.MustCompile(`\d+`)
	ensembles = regexp.MustCompile(`\bensemble [0-9a-f]{16}`)
	times     = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	configs   = regexp.MustCompile(`/\S+/zoo\.cfg:\d+`)
	counts    = regexp.MustCompile(`\b(\d+ (connections? (was|were)|snapshots?)|once|\d+ times)\b`)
	most      = regexp.MustCompile(`\b\d+ of at most \d+ `)
	epochs    = regexp.MustCompile(`\bepochs( \d+ \(led by \d+\))+`)
	lists     = regexp.MustCompile(`\bserver\.\d+=\S+( server\.\d+=\S+)*( version=\w+)?`)
	ages      = regexp.MustCompile(`\b\d+ hours old\b`)
	paths     = regexp.MustCompile(`(/[\w.-]+){2,}`)
	amounts   = regexp.MustCompile(`\b[\d.]+ (ms|txns|MiB)\b`)
	spans     = regexp.MustCompile(`\bby -?(\d+h)?(\d+m)?\d+s\b`)
	zxids     = regexp.MustCompile(`\b0x[0-9a-f]+`)
	theirID   = regexp.MustCompile(`\bhave the id \d+`)
	lastHost  = regexp.MustCompile(` and 127\.0\.0\.\d+$`)
	resolved  = regexp.MustCompile(`\(127\.0\.0\.\d+\)`)
)

// plural replaces how often something has happened.
func plural(count string) string {
	switch {
	case strings.Contains(count, "connection"):
		return "N connections were"
	case strings.Contains(count, "snapshot"):
		return "N snapshots"
	}
	return "N times"
}

// row is the line of the table. What differs from one run to the next is replaced by letters.
func (s *shown) row(a *accident) string {
	said := map[string]string{}
	for _, text := range s.texts {
		check, what, _ := strings.Cut(text, "\x00")
		what = serverIDs.ReplaceAllStringFunc(what, func(ids string) string {
			return digits.ReplaceAllString(ids, "N")
		})
		what = spans.ReplaceAllString(amounts.ReplaceAllString(what, "N $1"), "by TIME")
		what = ages.ReplaceAllString(what, "HOURS old")
		what = configs.ReplaceAllString(times.ReplaceAllString(what, "TIME"), "zoo.cfg:LINE")
		what = counts.ReplaceAllStringFunc(what, plural)
		what = most.ReplaceAllString(what, "N of at most N ")
		what = lists.ReplaceAllString(what, "LIST")
		what = ensembles.ReplaceAllString(epochs.ReplaceAllString(what, "epochs LIST"), "ensemble ID")
		what = address.ReplaceAllString(zxids.ReplaceAllString(what, "ZXID"), "HOST:PORT")
		what = theirID.ReplaceAllString(what, "have the id N")
		what = resolved.ReplaceAllString(what, "(IP)")
		what = lastHost.ReplaceAllString(paths.ReplaceAllString(what, "FILE"), " and HOST")
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
	cells := []string{a.name, strings.Join(findings, "; "), strconv.Itoa(s.code), strings.Join(codes, ", "),
		strings.Join(levels, ", "), strings.Join(metrics, ", "), quoted(s.alerts), s.client}
	for i, cell := range cells {
		cells[i] = cmp.Or(cell, "none")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// quoted is a list of names in a cell of the table.
func quoted(names []string) string {
	all := slices.Clone(names)
	for i := range all {
		all[i] = "`" + all[i] + "`"
	}
	return strings.Join(all, ", ")
}

// TestAccidents makes accidents and wants every surface of every server that can be asked to tell the same, and to
// tell nothing any more when the accident is over. What they tell is the table of docs/TROUBLESHOOTING.md.
func TestAccidents(t *testing.T) {
	var mu sync.Mutex
	rows := map[string]string{}
	t.Run("scenes", func(t *testing.T) {
		for i := range scenes {
			sc := &scenes[i]
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				h := sc.open(t)
				h.until(none)
				for k := range sc.accidents {
					a := &sc.accidents[k]
					if slices.Contains(slow, a.name) && !*writeAccidents {
						continue
					}
					row := h.suffer(a)
					mu.Lock()
					rows[a.name] = row
					mu.Unlock()
				}
			})
		}
	})
	writeOrCompare(t, rows)
}

var none = &accident{name: "no accident"}

// suffer makes an accident and ends it, and returns its row of the table.
func (h *hosts) suffer(a *accident) string {
	h.t.Helper()
	h.nodes = leaderFirst(h.t, h.nodes)
	h.logged = map[*cluster.Node]int{}
	for _, n := range h.nodes {
		h.logged[n] = len(n.Log())
	}
	watch := cluster.NewWatch()
	a.begin(h)
	s := h.until(a)
	var known bool
	if s.alerts, known = h.firing(a); !known {
		s.alerts = h.shownAlerts(a)
	}
	s.haveAlerts(h.t, a)
	s.client = h.client(a)
	began := watch.Elapsed()
	a.end(h)
	h.until(none)
	h.t.Logf("%s: told after %v, over after %v", a.name, began, watch.Elapsed()-began)
	return s.row(a)
}

// client is what a client is told that knows all servers and creates a znode: the error, or that it was served.
func (h *hosts) client(a *accident) string {
	h.t.Helper()
	servers := make([]string, len(h.nodes))
	for i, n := range h.nodes {
		servers[i] = n.Addr()
	}
	cmd := exec.Command(cluster.Binary(h.t), "shell", "-s", strings.Join(servers, ","), "--connect-wait", "20s",
		"create", "-e", "-s", "/seen")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err == nil {
		require.Contains(h.t, errs.String(), "Created /seen", a.name)
		return "served"
	}
	text := strings.Join(strings.Fields(errs.String()), " ")
	return fmt.Sprintf("`%s`, exit code %d", address.ReplaceAllString(text, "HOST:PORT"), cmd.ProcessState.ExitCode())
}

// haveAlerts wants each finding above notice to have one of its own alerts. One alert is enough if nobody serves.
func (s *shown) haveAlerts(t *testing.T, a *accident) {
	t.Helper()
	for _, k := range findings.Kinds() {
		if k.Check == "not-serving" && slices.Contains(s.alerts, "NobodyServes") {
			continue
		}
		if a.finds[k.Check] > doctor.Notice {
			require.True(t, slices.ContainsFunc(k.Alerts, func(own findings.Alert) bool {
				return slices.Contains(s.alerts, own.Name)
			}), "%s: no alert tells of %s: %v", a.name, k.Check, s.alerts)
		}
	}
}

// shownAlerts are those that the page has for an accident, on a machine without promtool.
func (h *hosts) shownAlerts(a *accident) (alerts []string) {
	text, err := os.ReadFile(page)
	require.NoError(h.t, err)
	_, row, _ := strings.Cut(string(text), "\n| "+a.name+" | ")
	row, _, _ = strings.Cut(row, " |\n")
	cells := strings.Split(row, " | ") // without the name
	for name := range strings.SplitSeq(cells[len(cells)-2], ",") {
		if name = strings.Trim(name, " `"); name != "none" {
			alerts = append(alerts, name)
		}
	}
	return alerts
}

// writeOrCompare compares the rows of the accidents that were made with those of the page, or writes them all.
func writeOrCompare(t *testing.T, rows map[string]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), accidentsBegin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, accidentsEnd)
	require.True(t, found)
	table := "| accident | findings at every surface | exit code of `status` | `/readyz` | log | `warren_finding` | " +
		"alerts | a client that knows all servers |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
	for i := range scenes {
		for k := range scenes[i].accidents {
			name := scenes[i].accidents[k].name
			row, made := rows[name]
			if !made || !*writeAccidents { // the page has it
				at := strings.Index(old, "\n| "+name+" | ")
				if at < 0 && *writeAccidents {
					continue // its scene was not run
				}
				require.GreaterOrEqual(t, at, 0, "the page lacks %q", name)
				was, _, _ := strings.Cut(old[at+1:], "\n")
				if made {
					require.Equal(t, was+"\n", row)
				}
				row = was + "\n"
			}
			table += row
		}
	}
	if *writeAccidents {
		text := before + accidentsBegin + "\n" + table + "\n" + accidentsEnd + after
		require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
		return
	}
	require.Equal(t, strings.TrimSpace(old), strings.TrimSpace(table))
}
