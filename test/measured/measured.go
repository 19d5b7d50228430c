// Package measured keeps what was measured, and of what, in docs/data/benchmarks.json, and writes it into the pages
// that show it. The pages have no figure of their own: test/docs compares.
package measured

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Run is what one test has measured.
type Run struct {
	Name      string  `json:"name"`
	Command   string  `json:"command"`
	Began     string  `json:"began"`
	Took      string  `json:"took"`
	Commit    string  `json:"commit"`
	Machine   string  `json:"machine"`
	Disk      string  `json:"disk"`
	ZooKeeper string  `json:"zookeeper,omitempty"`
	Others    string  `json:"others"` // what else the machine did
	Tables    []Table `json:"tables"`
}

// Table is one of a page. The first cell of its head is its name.
type Table struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// String returns the table as Markdown.
func (t Table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Head)
	line(slices.Repeat([]string{"---"}, len(t.Head)))
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}

// Parse reads a table from Markdown.
func Parse(text string) (t Table) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		cells := strings.Split(line, "|")
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		cells = cells[1 : len(cells)-1]
		switch i {
		case 0:
			t.Head = cells
		case 1: // the line below the head
		default:
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// errNothing is returned if a page needs a figure that there is not yet.
var errNothing = errors.New("nothing was measured")

// Runs are all that are kept.
type Runs []Run

// Read returns what the folder of the documents keeps.
func Read(docs string) (Runs, error) {
	text, err := os.ReadFile(file(docs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var runs Runs
	return runs, json.Unmarshal(text, &runs)
}

func file(docs string) string { return filepath.Join(docs, "data", "benchmarks.json") }

// Table returns the table of a name.
func (r Runs) Table(name string) (Table, error) {
	for _, run := range r {
		for _, t := range run.Tables {
			if t.Head[0] == name {
				return t, nil
			}
		}
	}
	return Table{}, fmt.Errorf("%w for the table %q", errNothing, name)
}

// Row returns the cells of the first row of a table whose first cell begins with a text.
func (r Runs) Row(table, begin string) ([]string, error) {
	t, err := r.Table(table)
	if err != nil {
		return nil, err
	}
	for _, row := range t.Rows {
		if strings.HasPrefix(row[0], begin) {
			return row, nil
		}
	}
	return nil, fmt.Errorf("the table %q has no row %q", table, begin)
}

// Measurement is a run that goes on.
type Measurement struct {
	t     testing.TB
	run   Run
	began time.Time
	ticks cpuTicks
}

// Begin looks at the machine before a test measures.
func Begin(t testing.TB, name, command string) *Measurement {
	t.Helper()
	m := &Measurement{t: t, began: time.Now(), ticks: readTicks(),
		run: Run{Name: name, Command: command, Machine: machine(), Disk: disk(t), Commit: commit()}}
	m.run.Began = m.began.UTC().Format("2006-01-02 15:04 UTC")
	m.run.Others = "load average " + loadAverage()
	return m
}

// BesideZooKeeper notes which one is measured, too: that of cluster.ClassPath.
func (m *Measurement) BesideZooKeeper() {
	m.run.ZooKeeper = zooKeeperVersion() + " on " + javaVersion()
}

// Keep puts the tables in the place of those of the run before, and writes the pages anew. It does nothing if docs is
// "" or the test has failed.
func (m *Measurement) Keep(docs string, tables ...Table) {
	m.t.Helper()
	for _, table := range tables {
		m.t.Logf("\n%s", table)
	}
	if docs == "" || m.t.Failed() {
		return
	}
	m.run.Tables = tables
	m.run.Took = time.Since(m.began).Round(time.Minute / 10).String()
	m.run.Others += fmt.Sprintf(" before it began; %.0f %% of the CPU time went to other virtual machines",
		m.ticks.stolen(readTicks()))
	runs := must.Do(Read(docs))(m.t)
	at := slices.IndexFunc(runs, func(r Run) bool { return r.Name == m.run.Name })
	if at < 0 {
		runs = append(runs, m.run)
	} else {
		runs[at] = m.run
	}
	text := must.Do(json.MarshalIndent(runs, "", "  "))(m.t)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(file(docs)), 0o755))
	require.NoError(m.t, os.WriteFile(file(docs), append(text, '\n'), 0o644))
	require.NoError(m.t, runs.Show(docs))
}

// Grouped writes a whole number with commas.
func Grouped(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
