package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each runbook says what its reader needs, does, checks and undoes, in this order and before all else, and is in the
// index.
func TestRunbooksHaveOneForm(t *testing.T) {
	index, err := os.ReadFile("../../docs/OPERATIONS.md")
	require.NoError(t, err)
	names, err := filepath.Glob("../../docs/runbooks/*.md")
	require.NoError(t, err)
	require.Greater(t, len(names), 15)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		titles := []string{}
		for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(
			fenced.ReplaceAllString(string(text), ""), -1) {
			titles = append(titles, m[1])
		}
		require.GreaterOrEqual(t, len(titles), 4, name)
		require.Equal(t, []string{"You need", "You do", "You check", "You undo"}, titles[:4], name)
		require.Contains(t, string(index), "](runbooks/"+filepath.Base(name)+")", "it is not in the index")
	}
}
