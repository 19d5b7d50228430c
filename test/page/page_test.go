package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestReplaceTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	before := "# Page\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n" +
		"| what | old |\n| --- | --- |\n| x | 1 |\n| y | 2 |\n\nEnd\n"
	require.NoError(t, os.WriteFile(file, []byte(before), 0o644))
	ReplaceTable(t, file, "| what | new | newer |\n| --- | --- | --- |\n| z | $1 | 4 |\n")
	after := must.ReadFile(t, file)
	require.Equal(t, "# Page\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"+
		"| what | new | newer |\n| --- | --- | --- |\n| z | $1 | 4 |\n\nEnd\n", string(after))
}
