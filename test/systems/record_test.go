package systems

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// record is what the last runs have shown.
type record struct {
	Systems []*entry `json:"systems"` // in the order of the page
}

// entry is one system.
type entry struct {
	Name    string   `json:"name"` // its folder
	Title   string   `json:"title"`
	Version string   `json:"version"`
	Client  string   `json:"client"` // that of ZooKeeper inside
	Did     string   `json:"did"`
	Set     []string `json:"set"`     // what a user should set or know
	Results []result `json:"results"` // Warren first
}

// result is one run of a system on one kind of server.
type result struct {
	Server  string   `json:"server"`  // with its version
	Outcome string   `json:"outcome"` // passed, failed or skipped
	Reason  string   `json:"reason,omitempty"`
	Checks  []check  `json:"checks"`
	Felt    []figure `json:"felt"`
	Kills   int      `json:"kills"` // of leaders of the ensemble
	Row     int      `json:"row"`   // how many runs in a row have passed, of this version on this server
	Seconds int      `json:"seconds"`
	Date    string   `json:"date"`
}

type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

type figure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const recordFile, pageFile = "record.json", "../../docs/SYSTEMS.md"

func readRecord(t *testing.T) *record {
	t.Helper()
	r := &record{}
	require.NoError(t, json.Unmarshal(must.ReadFile(t, recordFile), r))
	return r
}

// results is the part of the page that is made from the record.
func (r *record) results() string {
	var b strings.Builder
	b.WriteString("| system | client inside | on Warren | on ZooKeeper |\n| --- | --- | --- | --- |\n")
	for _, e := range r.Systems {
		fmt.Fprintf(&b, "| [%s %s](#%s) | %s | %s | %s |\n", e.Title, e.Version, strings.ToLower(e.Title), e.Client,
			e.Results[0].summary(), e.Results[1].summary())
	}
	for _, e := range r.Systems {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", e.Title, wrapped("", e.Did))
		for _, line := range e.Set {
			b.WriteString(wrapped("- ", line) + "\n")
		}
		if len(e.Set) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "| | %s | %s |\n| --- | --- | --- |\n", e.Results[0].Server, e.Results[1].Server)
		e.rows(&b)
	}
	return b.String()
}

// rows has a line for each check and for each figure that either server has.
func (e *entry) rows(b *strings.Builder) {
	var names []string
	cells := map[string]*[2]string{}
	put := func(side int, name, value string) {
		if cells[name] == nil {
			names, cells[name] = append(names, name), &[2]string{"–", "–"}
		}
		cells[name][side] = value
	}
	for side, r := range e.Results {
		outcome := r.Outcome
		if r.Reason != "" {
			outcome += ": " + r.Reason
		}
		put(side, "outcome", outcome)
	}
	for side, r := range e.Results {
		for _, c := range r.Checks {
			word := "failed"
			if c.OK {
				word = "ok"
			}
			put(side, c.Name, word+": "+c.Detail)
		}
	}
	for side, r := range e.Results {
		for _, f := range r.Felt {
			put(side, f.Name, f.Value)
		}
		if r.Outcome == "skipped" {
			continue
		}
		put(side, "leaders of the ensemble killed", fmt.Sprint(r.Kills))
		put(side, "run", fmt.Sprintf("%d s, %s", r.Seconds, r.Date))
	}
	for _, name := range names {
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, cells[name][0], cells[name][1])
	}
}

func (r *result) summary() string {
	good := 0
	for _, c := range r.Checks {
		if c.OK {
			good++
		}
	}
	if r.Outcome == "skipped" {
		return r.Outcome
	}
	summary := fmt.Sprintf("%s, %d of %d", r.Outcome, good, len(r.Checks))
	switch {
	case r.Row > 2:
		summary += fmt.Sprintf(", %d times in a row", r.Row)
	case r.Row == 2:
		summary += ", twice in a row"
	}
	return summary
}

// follow counts the runs in a row that have passed, the last of which was before this one.
func (r *result) follow(before result) {
	switch {
	case r.Outcome != "passed":
		r.Row = 0
	case r.Server == before.Server:
		r.Row = before.Row + 1
	default:
		r.Row = 1
	}
}

// wrapped is text in lines of at most 119 columns, the first of which begins with head.
func wrapped(head, text string) string {
	line, all := head, ""
	indent := strings.Repeat(" ", len(head))
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 119 {
			all, line = all+strings.TrimRight(line, " ")+"\n", indent
		}
		if strings.TrimSpace(line) != "" && !strings.HasSuffix(line, " ") {
			line += " "
		}
		line += word
	}
	return all + line
}

// parts cuts the page where the results begin.
func parts(t *testing.T) (before, results string) {
	t.Helper()
	text := must.ReadFile(t, pageFile)
	const title = "\n## Results\n\n"
	before, results, found := strings.Cut(string(text), title)
	require.True(t, found, "%s has no results", pageFile)
	return before + title, results
}

// A run that fails, and one on another server, begins the count again.
func TestRunsInARow(t *testing.T) {
	before := result{Server: "ZooKeeper 3.9.5", Outcome: "passed", Row: 1, Checks: []check{{OK: true}}}
	for _, c := range []struct {
		server, outcome, summary string
		row                      int
	}{
		{before.Server, "passed", "passed, 1 of 1, twice in a row", 2},
		{before.Server, "failed", "failed, 1 of 1", 0},
		{"ZooKeeper 3.9.6", "passed", "passed, 1 of 1", 1},
		{before.Server, "skipped", "skipped", 0},
	} {
		now := result{Server: c.server, Outcome: c.outcome, Checks: before.Checks}
		now.follow(before)
		require.Equal(t, c.row, now.Row, c)
		require.Equal(t, c.summary, now.summary(), c)
	}
}

// The page says what the record says.
func TestPageIsTheRecord(t *testing.T) {
	r := readRecord(t)
	require.NotEmpty(t, r.Systems)
	_, results := parts(t)
	require.Equal(t, r.results(), results, "make systems RECORD=yes writes both")
}
