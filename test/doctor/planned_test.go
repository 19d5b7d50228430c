package doctor

import (
	"maps"
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
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/promtool"
	"github.com/seed94657493/warren/test/wire"
)

// calm looks at the API and the metrics of all servers that answer again and again, until what is planned is done, and
// wants no finding above notice at any moment.
func (h *hosts) calm(done func() bool) {
	h.t.Helper()
	watch := cluster.NewWatch()
	for !done() {
		require.Less(h.t, watch.Elapsed(), agreement, "what was planned is not done")
		for i := range h.nodes {
			_, text, err := h.get(i, "/api/v1/ensemble")
			if err != nil { // it is being restarted
				continue
			}
			problems, _ := problemsOf(h.t, text)
			for _, p := range problems {
				if !slices.Contains(ofTheMachine, p.Check) {
					require.Equal(h.t, doctor.Notice.String(), p.Severity, "server %d: %s: %s", h.nodes[i].ID(),
						p.Check, p.Text)
				}
			}
			if _, text, err = h.get(i, "/metrics"); err != nil {
				continue
			}
			for _, m := range findingLine.FindAllString(text, -1) {
				if !ofTheMachineLine.MatchString(m) {
					require.Contains(h.t, m, `severity="notice"`, "server %d", h.nodes[i].ID())
				}
			}
		}
		h.scraped.scrape(h)
		watch.Pause()
	}
}

// ofTheMachineLine matches a line, of the log or of the metrics, about a finding of the machine.
var ofTheMachineLine = regexp.MustCompile(`"?check"?[=:] ?"(` + strings.Join(ofTheMachine, "|") + `)"`)

// quiet wants the logs of servers to have no line about a finding since the ensemble began to serve, which a notice
// never has.
func (h *hosts) quiet() {
	h.t.Helper()
	for _, n := range h.nodes {
		for line := range strings.Lines(h.logOf(n)) {
			if strings.Contains(line, `{"check": "`) && !ofTheMachineLine.MatchString(line) {
				require.Fail(h.t, "a finding above notice is in the log", "server %d: %s", n.ID(), line)
			}
		}
	}
}

// scrapes are what Prometheus would have found at the servers. It is played to the rules as if there were scrapeEvery
// between two of them, so that what takes a second here takes half a minute there, and the end stays for lastsAfter.
type scrapes struct {
	used  map[string]bool
	begin time.Time
	found []map[string]float64 // by metric with the labels of its target; what is not there was not found
}

const scrapeEvery, lastsAfter = 5 * time.Second, 2 * time.Hour

// scrape notes the metrics of all servers. A nil s notes nothing.
func (s *scrapes) scrape(h *hosts) {
	if s == nil {
		return
	}
	found := map[string]float64{}
	for i, n := range h.nodes {
		target := targetOf(n)
		_, text, err := h.get(i, "/metrics")
		if err != nil {
			found[promtool.Named("up", target)] = 0
			continue
		}
		found[promtool.Named("up", target)] = 1
		for name, v := range samplesIn(text, s.used, s.begin) {
			found[promtool.Named(name, target)] = v
		}
	}
	s.found = append(s.found, found)
}

// series are what was found, as promtool reads it, and how long it lasts.
func (s *scrapes) series() (all []promtool.Series, lasts time.Duration) {
	names := map[string]bool{}
	for _, found := range s.found {
		for name := range found {
			names[name] = true
		}
	}
	for name := range names {
		var b strings.Builder
		there, last := false, ""
		for _, found := range s.found {
			v, is := found[name]
			switch {
			case is:
				last = strconv.FormatFloat(v, 'f', -1, 64)
				b.WriteString(last + " ")
			case there:
				b.WriteString("stale ")
			default:
				b.WriteString("_ ")
			}
			there = is
		}
		if there {
			b.WriteString(last + "+0x" + strconv.Itoa(int(lastsAfter/scrapeEvery)))
		}
		all = append(all, promtool.Series{Series: name, Values: b.String()})
	}
	return all, time.Duration(len(s.found))*scrapeEvery + lastsAfter
}

// newer returns the path of a warren binary of a version that is none.
func newer(t *testing.T) string {
	t.Helper()
	root := must.Abs(t, "../..")
	path := filepath.Join(t.TempDir(), "warren")
	const vars = "github.com/seed94657493/warren/cmd/warren/build."
	args := []string{"build", "-pgo=off", "-o", path, "-ldflags", "-X " + vars + "version=v99.0.0 -X " + vars +
		"Compatible=3.9.99"}
	if cluster.RaceEnabled() {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/warren")...)
	build.Dir = root
	must.Output(t, build)
	return path
}

// TestPlannedWorkIsNoTrouble restarts all servers, one after the other, each after it was drained, replaces their
// program by a newer one in the same way, and then adds an observer, which becomes a voter. No surface tells more than
// notices meanwhile, and none tells anything afterwards. No alert fires at any time. It does not run beside others
// of this package: a server that gets no processor for a second is trouble.
func TestPlannedWorkIsNoTrouble(t *testing.T) {
	h := newHosts(t, withSuper(4, nil)...)
	joiner := h.nodes[3]
	lines := map[string]string{"reconfigEnabled": "true", "skipACL": "yes"}
	for _, n := range h.nodes[:3] {
		key, value, _ := strings.Cut(n.Line(), "=")
		lines[key] = value
	}
	voter := joiner.Line()
	observer := strings.Replace(voter, ":participant", ":observer", 1)
	h.nodes = h.nodes[:3]
	for _, n := range h.nodes {
		n.Lists(h.nodes...)
		n.Set(lines)
	}
	cluster.StartAll(h.nodes...)
	h.until(none)
	h.noteLogs()
	h.scraped = &scrapes{used: metricsOf(promtool.Rules(t)), begin: time.Now()}
	next := newer(t)
	for _, program := range []string{cluster.Binary(t), next} {
		h.nodes = leaderFirst(t, h.nodes)
		for _, i := range []int{1, 2, 0} { // the leader last
			drained := &accident{name: "drained", finds: found{"drained": doctor.Notice}}
			h.drain(i)
			h.until(drained)
			h.nodes[i].Stop()
			h.nodes[i].Use(program)
			h.nodes[i].Launch()
			h.calm(h.nodes[i].Serves)
		}
		h.until(none)
	}
	for _, n := range h.nodes {
		text := wire.MustFourLetter(t, n.Addr(), "srvr", patience)
		require.Contains(t, text, "3.9.99", "it is the newer program")
	}

	joiner.Use(next)
	joiner.Set(lines)
	joiner.Set(map[string]string{"server.4": strings.TrimPrefix(observer, "server.4=")})
	joiner.Launch()
	says(t, joiner, "listens for clients on") // the others ask it as soon as they know it
	c := wire.Open(t, h.nodes[0].Addr(), wire.Options{TimeoutMs: 30_000, Reply: time.Minute})
	for _, line := range []string{observer, voter} {
		h.calm(func() bool { // a voter is only added when it has caught up
			reply, err := c.Do(wire.Reconfig(line, "", "", -1))
			return err == nil && reply.Header.Err == proto.OK
		})
		h.calm(joiner.Serves)
	}
	h.nodes = append(h.nodes, joiner)
	h.until(none)
	h.quiet()

	if !promtool.Installed() {
		return
	}
	series, lasts := h.scraped.series()
	require.Empty(t, promtool.Firing(t, series, scrapeEvery, scrapeEvery, lasts, true))
	end := maps.Clone(h.scraped.found[len(h.scraped.found)-1]) // an alert does fire if a server stays away
	end[promtool.Named("up", targetOf(joiner))] = 0
	series, lasts = (&scrapes{found: append(h.scraped.found, end)}).series()
	require.Equal(t, []string{"ServerDown"}, promtool.Firing(t, series, scrapeEvery, scrapeEvery, lasts, true))
}
