package docs

import (
	"flag"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/measured"
	"github.com/seed94657493/warren/test/must"
)

// docsFolder has the records and the pages.
const docsFolder = "../../docs"

var writeFigures = flag.Bool("docs.figures", false, "write the figures of docs/data/benchmarks.json into the pages")

// Pages show the figures of the records and no others. After a change to the records, -docs.figures writes the pages.
func TestFiguresAreRecorded(t *testing.T) {
	runs := must.Do(measured.Read(docsFolder))(t)
	if *writeFigures {
		require.NoError(t, runs.Show(docsFolder))
	}
	var names []string
	for _, run := range runs {
		require.NotEmpty(t, run.Command)
		require.NotEmpty(t, run.Commit)
		for _, table := range run.Tables {
			require.NotContains(t, names, table.Head[0], "two runs have one table")
			names = append(names, table.Head[0])
		}
	}
	require.ElementsMatch(t, measured.Shown, names)
	pages := must.Do(runs.Pages(docsFolder))(t)
	require.Len(t, pages, 4)
	for file, want := range pages {
		text := must.ReadFile(t, file)
		require.Equal(t, want, string(text), "%s differs from docs/data/benchmarks.json", file)
	}
}

// The figures of servers, of failures and of clients are of one run.
func TestFiguresAreOfOneRun(t *testing.T) {
	runs := must.Do(measured.Read(docsFolder))(t)
	var of []measured.Run
	for _, run := range runs {
		if strings.HasPrefix(run.Command, "make benchmarks") {
			of = append(of, run)
		}
	}
	require.Len(t, of, 5)
	for _, run := range of[1:] {
		require.Equal(t, of[0].Machine, run.Machine)
		require.Equal(t, of[0].Commit, run.Commit, run.Name)
	}
}

// settings are the numbers in the text of BENCHMARKS.md: how something is measured, and the goals.
var settings = []string{"16", "64", "128", "100", "40", "20", "150", "50", "1", "2", "1,000"}

// The text of BENCHMARKS.md has no figures: they are in its tables.
func TestTextOfBenchmarksHasNoFigures(t *testing.T) {
	text := must.ReadFile(t, filepath.Join(docsFolder, "BENCHMARKS.md"))
	runs := must.Do(measured.Read(docsFolder))(t)
	recorded := []string{"run"} // the list of the runs
	for _, run := range runs {
		for _, table := range run.Tables {
			recorded = append(recorded, table.Head[0])
		}
	}
	inTable := false
	prose := fenced.ReplaceAllString(string(text), "")
	prose = regexp.MustCompile("`[^`]*`|\\[[^]]*\\]\\([^)]*\\)|<!--.*-->").ReplaceAllString(prose, "")
	var seen []string
	for line := range strings.Lines(prose) {
		if strings.HasPrefix(line, "|") {
			if !inTable {
				require.Contains(t, recorded, cellsOf(line)[0], "a table that was not recorded")
			}
			inTable = true
			continue
		}
		inTable = false
		for _, n := range regexp.MustCompile(`\d+(?:[,.]\d+)*`).FindAllString(line, -1) {
			require.Contains(t, settings, n, "%q has a figure", line)
			seen = append(seen, n)
		}
	}
	for _, n := range settings {
		require.Contains(t, seen, n, "the text has no such number")
	}
}

// What the README says of the simulations is not more than their last runs have done, by docs/SIMULATION.md.
func TestReadmeSaysWhatTheSimulationsHaveDone(t *testing.T) {
	page := must.ReadFile(t, "../../docs/SIMULATION.md")
	done := map[string]int{}
	runs := regexp.MustCompile(`(?m)^\| .(Test\w+). \| ([\d,]+) from .*$`)
	for _, m := range runs.FindAllStringSubmatch(string(page), -1) {
		kind := "agreement"
		if m[1] == "TestSystem" {
			kind = "whole servers"
		}
		done[kind+" ensembles"] += number(t, m[2])
		for _, n := range regexp.MustCompile(`(\d+) ([a-z]+ ?[a-z]*)`).FindAllStringSubmatch(m[0], -1) {
			done[kind+" "+n[2]] += number(t, n[1])
		}
		if h := regexp.MustCompile(`(\d+)h\d+m\d+s simulated`).FindStringSubmatch(m[0]); h != nil {
			done["hours"] += number(t, h[1])
		}
	}
	rows := readmeRows(t, "Why you can trust it")
	for _, claim := range []struct {
		row  int
		says string
		of   string
		unit int
	}{
		{0, `([\d,]+) ensembles`, "agreement ensembles", 1},
		{0, `(\d+) million acknowledged writes`, "agreement writes acknowledged", 1_000_000},
		{0, `(\d+) million crashes`, "agreement processes crashed", 1_000_000},
		{1, `(\d+) hours of simulated time`, "hours", 1},
		{1, `([\d,]+) faults`, "whole servers faults", 1},
		{1, `(\d+) million replies checked`, "whole servers replies checked", 1_000_000},
	} {
		m := regexp.MustCompile(claim.says).FindStringSubmatch(rows[claim.row][1])
		require.NotNil(t, m, claim.says)
		require.Positive(t, done[claim.of], "docs/SIMULATION.md says nothing of %s", claim.of)
		require.LessOrEqual(t, number(t, m[1])*claim.unit, done[claim.of], claim.of)
	}
}

// What the README says in words of the same measurements follows from their figures.
func TestWordsOfTheReadmeFollowFromFigures(t *testing.T) {
	readme := must.ReadFile(t, "../../README.md")
	text := strings.Join(strings.Fields(string(readme)), " ")
	runs := must.Do(measured.Read(docsFolder))(t)
	bench := func(table, row string, column int) []float64 {
		return figures(must.Do(runs.Row(table, row))(t)[column])
	}
	for _, claim := range []struct {
		says        string
		least, most float64 // what the quotient, or the figure, must be
		is          []float64
	}{
		{"needs about a quarter of the memory", 0.15, 0.3, bench(measured.Million, "resident memory", 3)},
		{"recovers from a dead leader in an eighth of the time", 0, 0.14, []float64{
			bench(measured.Failures, "leader killed", 1)[0] / bench(measured.Failures, "leader killed", 2)[0]}},
		{"starts in a fifth of the time", 0.15, 0.25, bench(measured.Million, "restart until served", 3)},
	} {
		require.Contains(t, text, claim.says)
		for _, n := range claim.is {
			require.GreaterOrEqual(t, n, claim.least, claim.says)
			require.LessOrEqual(t, n, claim.most, claim.says)
		}
	}
}

// cellsOf returns the cells of a row of a table, nil for another line.
func cellsOf(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	return strings.Split(strings.Trim(line, "| \n"), " | ")
}

// figures are the numbers in a cell; those in ms are turned into seconds.
func figures(cell string) (all []float64) {
	for _, m := range regexp.MustCompile(`([0-9][0-9,]*(?:\.[0-9]+)?)( ms)?`).FindAllStringSubmatch(cell, -1) {
		n, err := strconv.ParseFloat(strings.ReplaceAll(strings.Trim(m[1], ","), ",", ""), 64)
		if err != nil {
			panic(err)
		}
		if m[2] != "" {
			n /= 1000
		}
		all = append(all, n)
	}
	return all
}

// readmeRows are the cells of the rows of the table in a section of README.md, without its head.
func readmeRows(t *testing.T, section string) (rows [][]string) {
	t.Helper()
	readme := must.ReadFile(t, "../../README.md")
	_, text, found := strings.Cut(string(readme), "## "+section+"\n")
	require.True(t, found, section)
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, cellsOf(line))
		}
	}
	require.Greater(t, len(rows), 2, section)
	return rows[2:]
}

func number(t *testing.T, text string) int {
	t.Helper()
	return must.Atoi(t, strings.ReplaceAll(text, ",", ""))
}

// The README counts the guarantees as their page does.
func TestReadmeCountsGuarantees(t *testing.T) {
	readme := must.ReadFile(t, "../../README.md")
	page := must.ReadFile(t, "../../docs/protocol/guarantees.md")
	m := regexp.MustCompile(`\[(\d+)\s+guarantees\]`).FindStringSubmatch(string(readme))
	require.NotNil(t, m)
	all := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, all)
	require.Equal(t, all[len(all)-1][1], m[1])
}
