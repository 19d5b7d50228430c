package accidents

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

var update = flag.Bool("accidents.update", false, "write the table of docs/TROUBLESHOOTING.md")

const (
	page  = "../../docs/TROUBLESHOOTING.md"
	rules = "../../deploy/prometheus/warren.rules.yml"

	// The table is between these lines of the page.
	from, to = "<!-- made by test/accidents: begin -->\n", "<!-- made by test/accidents: end -->\n"

	// patience bounds the wait for what an ensemble does by itself.
	patience = 2 * time.Minute
)

// accident is made and ended for real.
type accident struct {
	name   string
	alerts []string
	begin  func(s *site) // it begins
	end    func(s *site) // its cause is removed
	want   func(s *site) findings
	ready  int // status of /readyz of those that can answer
}

// nodesOf returns the leader, and the others.
func (s *site) nodesOf() (leader *cluster.Node, others []*cluster.Node) {
	s.t.Helper()
	cluster.Eventually(s.t, func() bool {
		leader, others = nil, nil
		for _, n := range s.nodes {
			if _, state := s.api(n); state == "leader" && leader == nil {
				leader = n
			} else {
				others = append(others, n)
			}
		}
		return leader != nil
	}, patience, "no server leads")
	return leader, others
}

// accidents returns all of them. Each leaves the ensemble whole.
func accidents() []accident {
	var hit []*cluster.Node
	follower := func(s *site) *cluster.Node {
		_, others := s.nodesOf()
		hit = others[:1]
		return hit[0]
	}
	withoutSpare := func(*site) findings {
		return findings{}.with("error", "no-spare", 0).with("error", "unreachable", hit[0].ID())
	}
	return []accident{
		{name: "a voter is dead", alerts: []string{"ServerDown", "NoSpareVoter"}, ready: 200,
			begin: func(s *site) { follower(s).Kill() }, end: func(*site) { hit[0].Start() }, want: withoutSpare},
		{name: "a voter stands still", alerts: []string{"ServerDown", "NoSpareVoter"}, ready: 200,
			begin: func(s *site) { follower(s).Pause() }, end: func(*site) { hit[0].Resume() }, want: withoutSpare},
		{name: "the quorum is lost", alerts: []string{"ServerDown", "NobodyServes"}, ready: 503,
			begin: func(s *site) {
				leader, others := s.nodesOf()
				hit = []*cluster.Node{leader, others[0]}
				leader.Kill()
				others[0].Kill()
			},
			end: func(*site) {
				hit[0].Launch()
				hit[1].Launch()
			},
			want: func(s *site) findings {
				all := findings{}.with("critical", "no-quorum", 0)
				for _, n := range s.nodes {
					if slices.Contains(hit, n) {
						all = all.with("error", "unreachable", n.ID())
					} else {
						all = all.with("error", "not-serving", n.ID())
					}
				}
				return all
			}},
	}
}

// TestEverySurfaceTellsTheSame makes the accidents, one after the other, in one ensemble.
func TestEverySurfaceTellsTheSame(t *testing.T) {
	s := newSite(t)
	s.tells(s.nodes, nil, 200)
	alerts, err := os.ReadFile(rules)
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("| accident | `warren status` | `warren doctor` | API, console | `/readyz` | log | " +
		"`warren_finding` | alerts |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, a := range accidents() {
		started := time.Now()
		for _, name := range a.alerts {
			require.Contains(t, string(alerts), "- alert: "+name+"\n")
		}
		before := map[*cluster.Node]int{}
		for _, n := range s.nodes {
			before[n] = len(n.Log())
		}
		a.begin(s)
		want := a.want(s)
		var up []*cluster.Node // that can answer
		for _, n := range s.nodes {
			if !slices.Contains(want, finding{"error", "unreachable", n.ID()}) {
				up = append(up, n)
			}
		}
		s.tells(up, want, a.ready)
		levels := s.logs(up, before, want)
		fmt.Fprintf(&table, "| %s | exit %d: %s | exit %d: %[3]s | %[3]s | %[5]d; %[3]s | %[6]s | %[3]s | %[7]s |\n",
			a.name, s.statusCode(want), words(want), s.doctorCode(want), a.ready, levels, quoted(a.alerts))

		a.end(s)
		s.tells(s.nodes, nil, 200)
		for _, n := range up {
			cluster.Eventually(t, func() bool {
				_, over := logged(n.Log()[before[n]:])
				return !slices.ContainsFunc(want, func(f finding) bool { return !over[f.check] })
			}, patience, "%s: the log of server %d does not say that all of %v is over", a.name, n.ID(), want)
		}
		t.Logf("%s: %v", a.name, time.Since(started).Round(time.Second))
	}
	compare(t, table.String())
}

// tells waits until every surface, whichever of the servers is asked, tells just these findings.
func (s *site) tells(up []*cluster.Node, want findings, ready int) {
	s.t.Helper()
	var what string
	same := func(surface string, n *cluster.Node, got findings) bool {
		what = fmt.Sprintf("%s of server %d tells %v", surface, n.ID(), got)
		return slices.Equal(got, want)
	}
	cluster.Eventually(s.t, func() bool {
		for _, n := range up {
			problems, _ := s.api(n)
			if !same("the API", n, problems) || !same("/metrics", n, s.metrics(n)) {
				return false
			}
			code, alike := s.readyz(n)
			what = fmt.Sprintf("/readyz of server %d is %d, as the API: %v", n.ID(), code, alike)
			if code != ready || !alike {
				return false
			}
		}
		for name, code := range map[string]int{"status": s.statusCode(want), "doctor": s.doctorCode(want)} {
			exit, got := s.command(name)
			what = fmt.Sprintf("warren %s exits with %d and tells %v", name, exit, got)
			if exit != code || !slices.Equal(got, want) {
				return false
			}
		}
		return true
	}, patience, "not %v everywhere: %v", want, worded{&what})
}

// worded is a text as it is when it is printed.
type worded struct{ text *string }

func (w worded) String() string { return *w.text }

// statusCode is the exit code of warren status.
func (s *site) statusCode(all findings) int {
	switch {
	case len(all) == 0:
		return 0
	case slices.ContainsFunc(all, func(f finding) bool { return f.check == "no-quorum" }):
		return 2
	}
	return 1
}

// doctorCode is the exit code of warren doctor.
func (s *site) doctorCode(all findings) int {
	code := 0
	for _, f := range all {
		code = max(code, map[string]int{"warning": 1, "error": 2, "critical": 2}[f.severity])
	}
	return code
}

// logs waits until the log of each server tells the findings since the accident began, and returns how.
func (s *site) logs(up []*cluster.Node, before map[*cluster.Node]int, want findings) string {
	s.t.Helper()
	level := map[string]string{"warning": "WARN", "error": "ERROR", "critical": "ERROR"}
	for _, n := range up {
		cluster.Eventually(s.t, func() bool {
			begun, _ := logged(n.Log()[before[n]:])
			return !slices.ContainsFunc(want, func(f finding) bool { return begun[f.check] != level[f.severity] })
		}, patience, "the log of server %d does not tell %v", n.ID(), want)
	}
	var all []string
	for _, f := range want {
		if text := level[f.severity] + " `" + f.check + "`"; !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// words are the findings, each kind once.
func words(all findings) string {
	var kinds []string
	for _, f := range all {
		if text := f.severity + " `" + f.check + "`"; !slices.Contains(kinds, text) {
			kinds = append(kinds, text)
		}
	}
	return strings.Join(kinds, ", ")
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// compare compares the table with the page, or writes it there.
func compare(t *testing.T, table string) {
	t.Helper()
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	head, rest, found := strings.Cut(string(content), from)
	require.True(t, found, "%s has no line %s", page, from)
	old, tail, found := strings.Cut(rest, to)
	require.True(t, found, "%s has no line %s", page, to)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+from+table+to+tail), 0o644))
		return
	}
	require.Equal(t, table, old, "run it with -accidents.update")
}
