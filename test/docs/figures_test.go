package docs

import (
	"os"
	"regexp"
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
			rows = append(rows, strings.Split(strings.Trim(line, "| \n"), " | "))
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
