package docs

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figure is a number with its unit, as pages write what was measured.
var figure = regexp.MustCompile(`[0-9][0-9,.]*(?: to [0-9][0-9,.]*)?(?: (?:op/s|ms|MiB|s))`)

// Each figure of the README's tables of speed and of comparison is one that docs/BENCHMARKS.md has measured.
func TestFiguresOfTheReadmeWereMeasured(t *testing.T) {
	measured, err := os.ReadFile("../../docs/BENCHMARKS.md")
	require.NoError(t, err)
	for section, least := range map[string]int{"How fast": 10, "Compared with others": 4} {
		found := 0
		for _, cells := range readmeRows(t, section) {
			for _, f := range figure.FindAllString(strings.Join(cells[1:3], " "), -1) {
				number, _, _ := strings.Cut(f, " op/s")
				number = strings.TrimSuffix(number, " s")
				require.Contains(t, string(measured), number, "%q is in README.md alone", f)
				found++
			}
		}
		require.GreaterOrEqual(t, found, least, section)
	}
}

// What the README says of the simulations is not more than their last runs have done, by docs/SIMULATION.md.
func TestReadmeSaysWhatTheSimulationsHaveDone(t *testing.T) {
	page, err := os.ReadFile("../../docs/SIMULATION.md")
	require.NoError(t, err)
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
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(readme)), " ")
	bench := func(row string, column int) []float64 { return figures(rowOf(t, "BENCHMARKS.md", row)[column]) }
	for _, claim := range []struct {
		says        string
		least, most float64 // what the quotient, or the figure, must be
		is          []float64
	}{
		{"needs about a quarter of the memory", 0.2, 0.3, []float64{bench("resident memory with them", 1)[0] /
			bench("resident memory with them", 2)[0]}},
		{"recovers from a dead leader in a tenth of the time", 0, 0.1, []float64{
			bench("leader killed (SIGKILL)", 1)[0] / bench("leader killed (SIGKILL)", 2)[0]}},
		{"starts in under a second", 0, 1, bench("restart until served, s", 1)},
		{"a single client writing to three servers gets 1.4 to 1.5 times as much done", 1.395, 1.545, []float64{
			bench("setData, 1 x 1", 3)[1], bench("setData, 1 x 1", 4)[1]}},
		{"writes of 100 kB are 1.2 times as fast", 1.15, 1.25, bench("setData of 100 kB", 3)[:1]},
	} {
		require.Contains(t, text, claim.says)
		for _, n := range claim.is {
			require.GreaterOrEqual(t, n, claim.least, claim.says)
			require.LessOrEqual(t, n, claim.most, claim.says)
		}
	}
}

// The durations that MIGRATION.md plans with are those that were measured, rounded.
func TestDurationsOfTheMigrationWereMeasured(t *testing.T) {
	for step, measured := range map[string]struct {
		row    string
		column int
	}{
		"a Warren server starts on its directory":                            {"restart until served, s", 1},
		"a Warren server with an empty directory catches up":                 {"server that lost its disk", 1},
		"a ZooKeeper server starts on its directory, on the way back":        {"restart until served, s", 2},
		"writes wait while a ZooKeeper leader is stopped":                    {"leader stopped (SIGTERM)", 2},
		"writes wait while a Warren leader is stopped, among Warren servers": {"leader stopped (SIGTERM)", 1},
	} {
		said := rowOf(t, "MIGRATION.md", step)[1]
		rounding := 0.0501 // s
		if strings.Contains(said, " ms") {
			rounding = 0.000501
		}
		source := figures(rowOf(t, "BENCHMARKS.md", measured.row)[measured.column])
		for _, n := range figures(said) {
			require.True(t, slices.ContainsFunc(source, func(m float64) bool { return math.Abs(m-n) <= rounding }),
				"%s: %v is none of %v", step, n, source)
		}
	}
}

// Ratios in the tables of BENCHMARKS.md agree with the throughputs beside them. They are medians of rounds, and so
// not quite their quotients.
func TestRatiosAgreeWithTheirFigures(t *testing.T) {
	var head []string
	checked := 0
	for _, line := range linesOf(t, "BENCHMARKS.md") {
		cells := cellsOf(line)
		switch {
		case cells == nil:
			head = nil
			continue
		case head == nil:
			head = cells
			continue
		case len(head) < 4 || !strings.HasSuffix(head[1], ", op/s") || !strings.HasPrefix(head[3], "ratio") ||
			strings.HasPrefix(cells[0], "--") || strings.Contains(cells[0], "latency"):
			continue
		}
		quotient := figures(cells[1])[0] / figures(cells[2])[0]
		if strings.HasPrefix(head[1], "go-zookeeper") {
			quotient = 1 / quotient
		}
		require.True(t, slices.ContainsFunc(figures(cells[3]), func(n float64) bool {
			return math.Abs(n-quotient) <= 0.15*quotient
		}), "%s: %.2f is none of %s", cells[0], quotient, cells[3])
		checked++
	}
	require.Greater(t, checked, 35)
}

// rowOf returns the cells of the first row of a page below docs whose first cell begins with a text.
func rowOf(t *testing.T, page, begin string) []string {
	t.Helper()
	for _, line := range linesOf(t, page) {
		if cells := cellsOf(line); cells != nil && strings.HasPrefix(cells[0], begin) {
			return cells
		}
	}
	t.Fatalf("%s has no row %q", page, begin)
	return nil
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
	for _, text := range regexp.MustCompile(`[0-9][0-9,]*(?:\.[0-9]+)?`).FindAllString(cell, -1) {
		n, err := strconv.ParseFloat(strings.ReplaceAll(strings.Trim(text, ","), ",", ""), 64)
		if err != nil {
			panic(err)
		}
		if strings.Contains(cell, " ms") {
			n /= 1000
		}
		all = append(all, n)
	}
	return all
}

// readmeRows are the cells of the rows of the table in a section of README.md, without its head.
func readmeRows(t *testing.T, section string) (rows [][]string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
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
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	require.NoError(t, err)
	return n
}

// The README counts the guarantees as their page does.
func TestReadmeCountsGuarantees(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/protocol/guarantees.md")
	require.NoError(t, err)
	m := regexp.MustCompile(`\[(\d+)\s+guarantees\]`).FindStringSubmatch(string(readme))
	require.NotNil(t, m)
	all := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, all)
	require.Equal(t, all[len(all)-1][1], m[1])
}
