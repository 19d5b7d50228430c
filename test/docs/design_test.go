package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// DESIGN.md says what each folder of tests is for.
func TestDesignNamesTheFoldersOfTests(t *testing.T) {
	named := ""
	for _, line := range linesOf(t, "DESIGN.md") {
		if cells := cellsOf(line); cells != nil {
			named += cells[0] + "\n"
		}
	}
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() {
			require.True(t, strings.Contains(named, "`"+entry.Name()+"`"), "test/%s", entry.Name())
		}
	}
}
