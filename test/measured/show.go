package measured

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Names of tables, which are the first cells of their heads.
const (
	One      = "one server, 128 bytes"
	Three    = "three servers, 128 bytes"
	Others   = "three servers, other loads"
	Million  = "a million znodes"
	Sessions = "connections and watches"
	Idle     = "three idle servers"
	Size     = "size"
	Failures = "three servers, when one fails"
	Clients  = "clients for Go, outstanding"
	Garbage  = "allocations and bytes"
	Watches  = "memory of a watch"
	Kills    = "client, connected to"
	Crowd    = "leader without clients killed"
	Deaths   = "sessions of dead clients"
)

// Shown are the tables of BENCHMARKS.md besides the one that lists the runs.
var Shown = []string{One, Three, Others, Million, Sessions, Idle, Size, Failures, Clients, Garbage, Watches, Kills,
	Crowd, Deaths}

// Show writes the pages that show figures.
func (r Runs) Show(docs string) error {
	pages, err := r.Pages(docs)
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Pages returns the pages that show figures, by their file names, with those of these runs. It leaves out pages of
// whose figures some were never measured.
func (r Runs) Pages(docs string) (map[string]string, error) {
	pages := map[string]string{}
	for name, show := range map[string]func(string) (string, error){
		"BENCHMARKS.md": r.benchmarks, "../README.md": r.readme, "MIGRATION.md": r.migration,
		"OPERATIONS.md": r.operations,
	} {
		file := filepath.Join(docs, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		shown, err := show(string(text))
		switch {
		case errors.Is(err, errNothing):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pages[file] = shown
	}
	return pages, nil
}

func (r Runs) benchmarks(text string) (string, error) {
	list := Table{Head: []string{"run", "command", "when", "commit", "machine", "disk", "ZooKeeper",
		"what else it did"}}
	for _, run := range r {
		list.Rows = append(list.Rows, []string{run.Name, "`" + run.Command + "`", run.Began + ", " + run.Took,
			run.Commit, run.Machine, run.Disk, run.ZooKeeper, run.Others})
	}
	tables := []Table{list}
	for _, run := range r {
		tables = append(tables, run.Tables...)
	}
	return replaceTables(text, tables...)
}

// migration has how long its steps take.
func (r Runs) migration(text string) (string, error) {
	table := Table{Head: []string{"step", "takes"}}
	for _, step := range []struct {
		what, table, row string
		column           int
	}{
		{"a Warren server starts on its directory", Million, "restart until served", 1},
		{"a Warren server with an empty directory catches up", Failures, "server that lost its disk", 1},
		{"a ZooKeeper server starts on its directory, on the way back", Million, "restart until served", 2},
		{"writes wait while a ZooKeeper leader is stopped", Failures, "leader stopped", 2},
		{"writes wait while a Warren leader is stopped, among Warren servers", Failures, "leader stopped", 1},
	} {
		row, err := r.Row(step.table, step.row)
		if err != nil {
			return "", err
		}
		table.Rows = append(table.Rows, []string{step.what, row[step.column]})
	}
	return replaceTables(text, table)
}

// operations has the memory that an operator plans with.
func (r Runs) operations(text string) (string, error) {
	row, err := r.Row(Million, "resident memory")
	if err != nil {
		return "", err
	}
	return replaceOne(text, `paths of 40 bytes, took [\d,]+ MiB`, "paths of 40 bytes, took "+row[1])
}

// readme has the headlines: a table, how they were measured, and two rows of the comparison.
func (r Runs) readme(text string) (string, error) {
	table := Table{Head: []string{"load", "Warren", "ZooKeeper 3.8", "measured with"}}
	of := map[string][]string{}
	for _, row := range []struct{ name, table, row, unit, with string }{
		{"3 servers, 64 clients writing", Three, "setData, 64 x 1", " op/s", "warren bench set --connections 64"},
		{"3 servers, 16 connections reading, 64 requests in flight each", Three, "getData, 16 x 64", " op/s",
			"warren bench get --connections 16 --outstanding 64"},
		{killed, Failures, "leader killed", "", "go test ./test/ensemble -run Failover"},
		{"memory with a million znodes", Million, "resident memory", "", "warren bench fill --znodes 1000000"},
		{"restart with a million znodes", Million, "restart until served", "", "the same"},
	} {
		cells, err := r.Row(row.table, row.row)
		if err != nil {
			return "", err
		}
		of[row.name] = cells
		with := row.with
		if with != "the same" {
			with = "`" + with + "`"
		}
		table.Rows = append(table.Rows,
			[]string{row.name, median(cells[1]) + row.unit, median(cells[2]) + row.unit, with})
	}
	text, err := replaceTables(text, table)
	if err != nil {
		return "", err
	}
	paragraph, err := r.howMeasured()
	if err != nil {
		return "", err
	}
	if text, err = replaceOne(text, `(?m)^Measured on (?:.+\n)+`, paragraph); err != nil {
		return "", err
	}
	for begin, row := range map[string]string{"memory for a million znodes": "memory with a million znodes",
		"writes again after a leader's death in": killed} {
		if text, err = replaceOne(text, `(?m)^\| `+begin+` \| [^|]* \| [^|]* \|`,
			fmt.Sprintf("| %s | %s | %s |", begin, median(of[row][1]), median(of[row][2]))); err != nil {
			return "", err
		}
	}
	return text, nil
}

const killed = "leader killed, until the next acknowledged write"

// howMeasured is a paragraph of the README.
func (r Runs) howMeasured() (string, error) {
	one, err := r.Row(Three, "setData, 1 x 1")
	if err != nil {
		return "", err
	}
	writes, err := r.Row(Others, "setData of 100 kB")
	if err != nil {
		return "", err
	}
	reads, err := r.Row(Others, "getData of 100 kB")
	if err != nil {
		return "", err
	}
	run := r[0]
	for _, other := range r {
		if other.Name == "servers" {
			run = other
		}
	}
	return wrap(fmt.Sprintf("Measured on %s at commit %s by `make benchmarks`, beside ZooKeeper %s with `-Xmx1g`. "+
		"The machine: %s, shared by the servers and the load; %s. Other work on it: %s. Where requests wait for the "+
		"disk or move much data, there is less to gain: a single client that writes to three servers gets %s times "+
		"as much done, writes of 100 kB run at %s times ZooKeeper's rate, and reads of 100 kB at %s times.",
		strings.SplitN(run.Began, " ", 2)[0], run.Commit,
		run.ZooKeeper, run.Machine, run.Disk, run.Others, median(one[3]), median(writes[3]), median(reads[3]))), nil
}

// median is a cell without the minimum and the maximum.
func median(cell string) string {
	before, _, _ := strings.Cut(cell, " (")
	return before
}

// replaceTables puts each table in the place of the one of its name.
func replaceTables(text string, tables ...Table) (string, error) {
	for _, t := range tables {
		var err error
		text, err = replaceOne(text, `(?m)^\| `+regexp.QuoteMeta(t.Head[0])+` \|.*\n(?:\|.*\n)*`, t.String())
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// replaceOne replaces what an expression matches in one place.
func replaceOne(text, expression, with string) (string, error) {
	re := regexp.MustCompile(expression)
	if n := len(re.FindAllString(text, -1)); n != 1 {
		return "", fmt.Errorf("%d places match %q, want 1", n, expression)
	}
	return re.ReplaceAllLiteralString(text, with), nil
}

// wrap breaks a paragraph into lines of a page.
func wrap(paragraph string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(paragraph) {
		switch {
		case i == 0:
		case width+1+len(word) >= 120:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String() + "\n"
}
