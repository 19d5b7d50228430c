package docs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// DESIGN.md says what each folder of tests is for.
func TestDesignNamesTheFoldersOfTests(t *testing.T) {
	named := ""
	for _, line := range linesOf(t, "DESIGN.md") {
		if cells := cellsOf(line); cells != nil {
			named += cells[0] + "\n"
		}
	}
	entries := must.ReadDir(t, "..")
	for _, entry := range entries {
		if entry.IsDir() {
			require.True(t, strings.Contains(named, "`"+entry.Name()+"`"), "test/%s", entry.Name())
		}
	}
}
