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
	"os/exec"
	"regexp"
	"slices"
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
	codes    map[string]int  // of the commands, by their names
	states   map[int]string  // by server, as the API tells them
	verdicts map[int]string  // in the consoles, by server; empty without a browser
	readyz   map[int]int     // status by server
	levels   map[string]bool // of the lines in the logs
	said     map[saying]bool
	missing  map[string]any // surfaces that did not answer, and why
	alerts   []string       // that fire if it lasts; nil if nothing can tell
}

// saying is a finding in the words of a server.
type saying struct {
	check    string
	severity doctor.Severity
	text     string
}

// url is an address at the admin port of a server.
func (h *hosts) url(i int, path string) string {
	host, _, err := net.SplitHostPort(h.nodes[i].Addr())
	require.NoError(h.t, err)
	return "http://" + net.JoinHostPort(host, h.port) + path
}

// get asks the admin port of a server, which may be slow to answer on a busy machine.
func (h *hosts) get(i int, path string) (status int, body string, err error) {
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(h.url(i, path))
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, string(text), err
}

// problem is a finding as the API tells it.
type problem struct{ Severity, Check, Text string }

// problemsOf reads them from an answer about the ensemble, and the state of the server.
func problemsOf(t *testing.T, text string) (all []problem, state string) {
	t.Helper()
	var e struct {
		State    string
		Problems []problem
	}
	require.NoError(t, json.Unmarshal([]byte(text), &e), text)
	return e.Problems, e.State
}

var (
	readyzLine  = regexp.MustCompile(`(?m)^(notice|warning|error|critical): (.*)$`)
	findingLine = regexp.MustCompile(`(?m)^warren_finding\{(.*)\} 1$`)
	label       = regexp.MustCompile(`(\w+)="([^"]*)"`)
	loggedLine  = regexp.MustCompile(`(?m)\t(WARN|ERROR)\t.*\{"check": "([^"]*)", "severity": "([^"]*)"`)
)

// look asks the API of all servers that can be asked, then every surface of theirs, the commands and the consoles,
// each if all before have agreed: most looks are at servers that have not noticed anything yet. What is of the machine
// is left out, and so is what is a notice, unless the accident wants it.
func (h *hosts) look(a *accident) *shown {
	s := &shown{findings: map[string]map[string]doctor.Severity{}, codes: map[string]int{}, states: map[int]string{},
		verdicts: map[int]string{}, readyz: map[int]int{}, levels: map[string]bool{}, said: map[saying]bool{},
		missing: map[string]any{}}
	for _, look := range []func(*accident, *shown){h.lookAtAPIs, h.lookAtServers, h.lookByCommands,
		h.lookAtConsoles} {
		if look(a, s); len(s.agrees(a)) > 0 {
			break
		}
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
		args = append(args, cluster.Addrs(h.nodes)...)
		var v visit
		text, code := h.run(args...)
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			s.missing[command] = err
			continue
		}
		s.findings[command], s.codes[command] = map[string]doctor.Severity{}, code
		for _, f := range v.Findings {
			s.add(h.t, a, command, f.Check, f.Severity.String())
		}
		if code == 1 && worst(s.findings[command]) <= doctor.Notice {
			s.codes[command] = 0 // what is of the machine counts there
		}
	}
}

func worst(all map[string]doctor.Severity) doctor.Severity {
	most := doctor.Notice
	for _, x := range all {
		most = max(most, x)
	}
	return most
}

// lookAtConsoles looks at the overview of one server in each state, and of one that does not serve in it.
func (h *hosts) lookAtConsoles(a *accident, s *shown) {
	if !theBrowser.open(h.t) {
		return
	}
	type state struct {
		name   string
		readyz int
	}
	seen := map[state]bool{}
	for i := range h.nodes {
		is := state{s.states[i], s.readyz[i]}
		if slices.Contains(a.silent, i) || seen[is] {
			continue
		}
		seen[is] = true
		surface := fmt.Sprintf("console %d", i)
		page, err := h.overview(i, func(d *drawn) bool {
			s.findings[surface] = map[string]doctor.Severity{}
			for _, f := range d.Findings {
				s.add(h.t, a, surface, f.Check, f.Severity)
			}
			return maps.Equal(s.findings[surface], a.finds)
		})
		if err != nil {
			s.missing[surface] = err
			continue
		}
		s.verdicts[i] = page.Verdict
	}
}

// lookAtAPIs asks the API of the servers for their findings.
func (h *hosts) lookAtAPIs(a *accident, s *shown) {
	for i := range h.nodes {
		if slices.Contains(a.silent, i) {
			continue
		}
		api := fmt.Sprintf("API %d", i)
		s.findings[api] = map[string]doctor.Severity{}
		code, text, err := h.get(i, "/api/v1/ensemble")
		if err != nil || code != http.StatusOK {
			s.missing[api] = fmt.Sprint(code, err)
			continue
		}
		problems, _ := problemsOf(h.t, text)
		for _, p := range problems {
			s.add(h.t, a, api, p.Check, p.Severity)
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
		problems, state := problemsOf(h.t, text)
		s.states[i] = state
		for _, p := range problems {
			add(api, p.Check, p.Severity)
			if severity, wanted := a.finds[p.Check]; wanted && severity.String() == p.Severity {
				s.said[saying{p.Check, severity, plain(p.Text)}] = true
			}
			// readyz tells texts, not the names of checks; the same text belongs to the same check.
			if slices.ContainsFunc(told, func(m []string) bool { return m[1] == p.Severity && m[2] == p.Text }) {
				add(readyz, p.Check, p.Severity)
			}
			// The log tells a finding once a minute, in the words of that moment.
			for _, m := range loggedLine.FindAllStringSubmatch(h.logOf(h.nodes[i]), -1) {
				if m[2] != p.Check || m[3] != p.Severity {
					continue
				}
				if add(log, p.Check, p.Severity); a.finds[p.Check].String() == p.Severity {
					s.levels[m[1]] = true
				}
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

// command is a program that runs beside a server, if the accident wants it.
func (h *hosts) command(name string, args ...string) *exec.Cmd {
	if h.beside == nil {
		return exec.Command(name, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", h.fabric.Namespace(h.beside.ID()), name}, args...)...)
}

// run runs a command of warren and returns what it writes, and its exit code.
func (h *hosts) run(args ...string) (string, int) {
	cmd := h.command(cluster.Binary(h.t), args...)
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
	if code, asked := s.codes["status"]; asked && code != a.status {
		wrong = append(wrong, fmt.Sprintf("status ends with %d, not %d", code, a.status))
	}
	first := ""
	for i, verdict := range s.verdicts {
		verdict, _, _ = strings.Cut(verdict, ";") // a server that does not serve says so
		if first = cmp.Or(first, verdict); verdict != first {
			wrong = append(wrong, fmt.Sprintf("console %d says %q, another one %q", i, verdict, first))
		}
	}
	return wrong
}

// agreement bounds the wait until all surfaces agree.
const agreement = 3 * time.Minute

// until waits until all surfaces agree with what is wanted.
func (h *hosts) until(a *accident) *shown {
	h.t.Helper()
	var wrong []string
	for watch := cluster.NewWatch(); watch.Elapsed() < agreement; watch.Pause() {
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
	address   = regexp.MustCompile(`\b(127|10)(\.\d+){3}:\d+`)
	serverIDs = regexp.MustCompile(`\bservers? \d+(, \d+)*( and \d+)?`)
	digits    = regexp.MustCompile(`\d+`)
	ensembles = regexp.MustCompile(`\bensemble [0-9a-f]{16}`)
	times     = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	configs   = regexp.MustCompile(`/\S+/zoo\.cfg:\d+`)
	counts    = regexp.MustCompile(`\b(\d+ (connections? (was|were)|snapshots?)|once|\d+ times)\b`)
	most      = regexp.MustCompile(`\b\d+ of at most \d+ `)
	openFiles = regexp.MustCompile(`\b\d+ of \d+ file descriptors`)
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

// plain replaces by letters what differs from one run to the next.
func plain(what string) string {
	what = serverIDs.ReplaceAllStringFunc(what, func(ids string) string { return digits.ReplaceAllString(ids, "N") })
	what = spans.ReplaceAllString(amounts.ReplaceAllString(what, "N $1"), "by TIME")
	what = ages.ReplaceAllString(what, "HOURS old")
	what = configs.ReplaceAllString(times.ReplaceAllString(what, "TIME"), "zoo.cfg:LINE")
	what = counts.ReplaceAllStringFunc(what, plural)
	what = most.ReplaceAllString(what, "N of at most N ")
	what = openFiles.ReplaceAllString(what, "N of N file descriptors")
	what = lists.ReplaceAllString(what, "LIST")
	what = ensembles.ReplaceAllString(epochs.ReplaceAllString(what, "epochs LIST"), "ensemble ID")
	what = address.ReplaceAllString(zxids.ReplaceAllString(what, "ZXID"), "HOST:PORT")
	what = theirID.ReplaceAllString(what, "have the id N")
	what = resolved.ReplaceAllString(what, "(IP)")
	return lastHost.ReplaceAllString(paths.ReplaceAllString(what, "FILE"), " and HOST")
}

// TestAccidents makes accidents and wants every surface of every server that can be asked to tell the same, and to
// tell nothing any more when the accident is over. What they tell is in the tables of docs/TROUBLESHOOTING.md.
func TestAccidents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	made := map[string]*result{}
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
					r := h.suffer(a)
					mu.Lock()
					made[a.name] = r
					mu.Unlock()
				}
			})
		}
	})
	writeOrCompare(t, made)
}

var none = &accident{name: "no accident"}

// noteLogs notes how much of each log was written before something happens.
func (h *hosts) noteLogs() {
	h.logged = map[*cluster.Node]int{}
	for _, n := range h.nodes {
		h.logged[n] = len(n.Log())
	}
}

// suffer makes an accident and ends it, and returns what was shown meanwhile.
func (h *hosts) suffer(a *accident) *result {
	h.t.Helper()
	h.nodes = leaderFirst(h.t, h.nodes)
	h.noteLogs()
	began := time.Now()
	a.begin(h)
	s := h.until(a)
	var known bool
	if s.alerts, known = h.firing(a); !known {
		s.alerts = alertsOnPage(h.t, a)
	}
	s.haveAlerts(h.t, a)
	r := &result{accident: a, shown: s, clients: h.clients(a)}
	told := time.Now()
	a.end(h)
	h.until(none)
	h.t.Logf("%s: told after %v, over after %v", a.name, told.Sub(began), time.Since(told))
	return r
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
