package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figure is a number with its unit, as pages write what was measured.
var figure = regexp.MustCompile(`[0-9][0-9,.]*(?: to [0-9][0-9,.]*)?(?: (?:op/s|ms|MiB|s))`)

// Each figure of the README's table of speed is one that docs/BENCHMARKS.md has measured.
func TestFiguresOfTheReadmeWereMeasured(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	measured, err := os.ReadFile("../../docs/BENCHMARKS.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "## How fast\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for row := range strings.Lines(section) {
		cells := strings.Split(row, " | ")
		if len(cells) < 4 || strings.HasPrefix(row, "| --- ") {
			continue
		}
		for _, cell := range cells[1:3] {
			for _, f := range figure.FindAllString(cell, -1) {
				number, _, _ := strings.Cut(f, " op/s")
				number = strings.TrimSuffix(number, " s")
				require.Contains(t, string(measured), number, "%q is in README.md alone", f)
				rows++
			}
		}
	}
	require.GreaterOrEqual(t, rows, 10)
}
