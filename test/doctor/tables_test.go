package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The tables of accidents lie between these lines of the page.
const (
	accidentsBegin = "<!-- accidents: written by go test ./test/doctor -run TestAccidents -doctor.accidents -->\n"
	accidentsEnd   = "<!-- end of accidents -->\n"
)

// The tables: what surfaces show of each accident, what each finding says, and what clients are told.
const (
	ofSurfaces = iota
	ofWords
	ofClients
)

// tables are what stands before each of them, and the first line of each.
var tables = []struct{ about, head string }{
	{"", "| accident | findings in the API, the console, `status`, `doctor` and `warren_finding` | verdict in the " +
		"console of the leader | in the consoles of the others | exit code of `status` | exit code of `doctor` | " +
		"`/readyz` | log | alerts |"},
	{"All surfaces use these words:",
		"| finding | severity | what is said |"},
	{"A client that knows all servers is served in each of these accidents, unless this table has it. Other rows " +
		"are those of clients that know only a server that doesn't serve them. Each creates a znode, for which it " +
		"waits 20 seconds: `warren shell`, the Go client, kazoo, and ZooKeeper's `zkCli.sh`.",
		"| accident | a client that knows | `warren shell` | Go client | kazoo | `zkCli.sh` |"},
}

// result is what was shown in an accident, and what the clients were told that were not served.
type result struct {
	*accident
	*shown
	clients []refusal
}

// line is a line of a table.
func line(cells ...string) string {
	for i, cell := range cells {
		cells[i] = cmp.Or(cell, "none")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// lines are those of an accident in each table. What cannot be known on this machine is what the page has.
func (r *result) lines(t *testing.T) (all [3][]string) {
	checks := slices.SortedFunc(maps.Keys(r.finds), func(x, y string) int {
		return 2*int(r.finds[y]-r.finds[x]) + strings.Compare(x, y)
	})
	for i, check := range checks {
		checks[i] = fmt.Sprintf("%s `%s`", r.finds[check], check)
	}
	leader, others := "there is none", []string{}
	for i, verdict := range r.verdicts {
		verdict = serverIDs.ReplaceAllStringFunc(verdict, func(id string) string {
			return digits.ReplaceAllString(id, "N")
		})
		if r.states[i] == "leader" {
			leader = verdict
		} else if !slices.Contains(others, verdict) {
			others = append(others, verdict)
		}
	}
	slices.Sort(others)
	if len(r.verdicts) == 0 {
		was := onPage(t, ofSurfaces, r.name)[0]
		leader, others = was[2], []string{was[3]}
	}
	var readyz []string
	for _, code := range r.readyz {
		readyz = append(readyz, strconv.Itoa(code))
	}
	slices.Sort(readyz)
	log := strings.Join(slices.Sorted(maps.Keys(r.levels)), ", ")
	if log == "" && len(checks) > 0 {
		log = "no line: it is a notice"
	}
	all[ofSurfaces] = []string{line(r.name, strings.Join(checks, ", "), leader, strings.Join(others, " / "),
		strconv.Itoa(r.codes["status"]), strconv.Itoa(r.codes["doctor"]), strings.Join(slices.Compact(readyz), ", "),
		log, quoted(r.alerts))}
	for s := range r.said {
		all[ofWords] = append(all[ofWords], line("`"+s.check+"`", s.severity.String(), s.text))
	}
	for _, c := range r.clients {
		cells := []string{r.name, c.knows}
		for i, program := range programs {
			cell := c.by[program.name]
			if cell == "" { // it is not installed
				for _, was := range onPage(t, ofClients, r.name) {
					if was[1] == c.knows {
						cell = was[2+i]
					}
				}
			}
			cells = append(cells, cell)
		}
		all[ofClients] = append(all[ofClients], line(cells...))
	}
	return all
}

// quoted is a list of names in a cell of a table.
func quoted(names []string) string {
	all := slices.Clone(names)
	for i := range all {
		all[i] = "`" + all[i] + "`"
	}
	return strings.Join(all, ", ")
}

// parts are the page before its tables of accidents, the lines of each, and what is behind them.
func parts(t *testing.T) (before string, lines [3][]string, after string) {
	t.Helper()
	text := must.ReadFile(t, page)
	before, rest, found := strings.Cut(string(text), accidentsBegin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, accidentsEnd)
	require.True(t, found)
	for i := range tables {
		_, body, found := strings.Cut(old, tables[i].head+"\n")
		if !found && *writeAccidents {
			continue
		}
		require.True(t, found, "the page lacks a table: %s", tables[i].head)
		body, _, _ = strings.Cut(body, "\n\n")
		for one := range strings.Lines(body + "\n") {
			if strings.HasPrefix(one, "| --- ") {
				continue
			}
			names, cells, _ := strings.Cut(strings.TrimPrefix(one, "| "), " | ")
			for name := range strings.SplitSeq(names, "; ") { // accidents of which clients are told the same
				lines[i] = append(lines[i], "| "+name+" | "+cells)
			}
		}
	}
	return before, lines, after
}

// onPage are the cells of the lines that the page has for an accident.
func onPage(t *testing.T, table int, name string) (all [][]string) {
	t.Helper()
	_, lines, _ := parts(t)
	for _, one := range lines[table] {
		if strings.HasPrefix(one, "| "+name+" | ") {
			all = append(all, strings.Split(strings.TrimSuffix(strings.TrimPrefix(one, "| "), " |\n"), " | "))
		}
	}
	require.True(t, len(all) > 0 || table == ofClients, "the page lacks %q", name)
	return all
}

// alertsOnPage are those that the page has for an accident.
func alertsOnPage(t *testing.T, a *accident) (alerts []string) {
	cells := onPage(t, ofSurfaces, a.name)[0]
	for name := range strings.SplitSeq(cells[len(cells)-1], ",") {
		if name = strings.Trim(name, " `"); name != "none" {
			alerts = append(alerts, name)
		}
	}
	return alerts
}

// writeOrCompare compares the lines of the accidents that were made with those of the page, or writes them all.
func writeOrCompare(t *testing.T, made map[string]*result) {
	t.Helper()
	before, old, after := parts(t)
	var all [3][]string
	whole := true
	for i := range scenes {
		for k := range scenes[i].accidents {
			name := scenes[i].accidents[k].name
			r := made[name]
			whole = whole && r != nil
			if r != nil {
				now := r.lines(t)
				all[ofWords] = append(all[ofWords], now[ofWords]...)
				for _, table := range []int{ofSurfaces, ofClients} {
					all[table] = append(all[table], now[table]...)
					if !*writeAccidents {
						require.Equal(t, stable(of(name, old[table])), stable(now[table]))
					}
				}
				continue
			}
			require.True(t, *writeAccidents || len(of(name, old[ofSurfaces])) == 1, "the page lacks %q", name)
			all[ofSurfaces] = append(all[ofSurfaces], of(name, old[ofSurfaces])...)
			all[ofClients] = append(all[ofClients], of(name, old[ofClients])...)
		}
	}
	if !*writeAccidents {
		require.Equal(t, old[ofSurfaces], all[ofSurfaces])
		require.ElementsMatch(t, stable(old[ofClients]), stable(all[ofClients]))
		require.Subset(t, old[ofWords], all[ofWords])
		return
	}
	if !whole {
		all[ofWords] = append(all[ofWords], old[ofWords]...)
	}
	slices.Sort(all[ofWords])
	all[ofWords] = slices.Compact(all[ofWords])
	all[ofClients] = together(all[ofClients])
	text := before + accidentsBegin
	for i := range tables {
		if tables[i].about != "" {
			text += "\n" + wrapped(tables[i].about) + "\n"
		}
		text += "\n" + tables[i].head + "\n" + strings.Repeat("| --- ", strings.Count(tables[i].head, "|")-1) + "|\n" +
			strings.Join(all[i], "")
	}
	require.NoError(t, os.WriteFile(page, []byte(text+"\n"+accidentsEnd+after), 0o644))
}

// together are lines of accidents that differ in nothing else as one.
func together(lines []string) (all []string) {
	names := map[string][]string{}
	var order []string
	for _, one := range lines {
		name, cells, _ := strings.Cut(strings.TrimPrefix(one, "| "), " | ")
		if names[cells] == nil {
			order = append(order, cells)
		}
		names[cells] = append(names[cells], name)
	}
	for _, cells := range order {
		all = append(all, "| "+strings.Join(names[cells], "; ")+" | "+cells)
	}
	return all
}

// of are the lines of an accident.
func of(name string, lines []string) (some []string) {
	for _, one := range lines {
		if strings.HasPrefix(one, "| "+name+" | ") {
			some = append(some, one)
		}
	}
	return some
}

// What a client says of the servers that it has tried may be of any that it knows.
var (
	lastTried = regexp.MustCompile(", since [^`]*")
	allTried  = regexp.MustCompile("( \\| all servers[^|]* \\|) `+(KeeperErrorCode = \\w+)[^|]*")
)

// stable is what lines say in every run.
func stable(lines []string) []string {
	all := slices.Clone(lines)
	for i := range all {
		all[i] = allTried.ReplaceAllString(lastTried.ReplaceAllString(all[i], ""), "$1 $2 ")
	}
	return all
}

// wrapped breaks a paragraph into lines of less than 120 columns.
func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		if column > 0 && column+1+len(word) >= 120 {
			b.WriteString("\n")
			column = 0
		} else if column > 0 {
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
