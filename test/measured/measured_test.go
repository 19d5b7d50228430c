package measured

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// folder is that of the documents in a repository with one page.
func folder(t *testing.T, page string) string {
	t.Helper()
	docs := filepath.Join(t.TempDir(), "docs")
	require.NoError(t, os.MkdirAll(docs, 0o755))
	for name, text := range map[string]string{"BENCHMARKS.md": page, "../README.md": "", "MIGRATION.md": "",
		"OPERATIONS.md": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644))
	}
	return docs
}

func TestKeepWritesTheRecordAndThePage(t *testing.T) {
	docs := folder(t, "# Page\n\n| run | x |\n| --- | --- |\n\n| a | old |\n| --- | --- |\n| x | 1 |\n\nEnd\n")
	for _, value := range []string{"2", "3 < 4"} { // the second run takes the place of the first
		Begin(t, "one", "make it").Keep(docs, Table{Head: []string{"a", "new"}, Rows: [][]string{{"x", value}}})
	}
	page := must.ReadFile(t, filepath.Join(docs, "BENCHMARKS.md"))
	require.Contains(t, string(page), "| a | new |\n| --- | --- |\n| x | 3 < 4 |\n\nEnd\n")
	require.Contains(t, string(page), "| one | `make it` | ")
	runs := must.Do(Read(docs))(t)
	require.Len(t, runs, 1)
	require.NotEmpty(t, runs[0].Machine)
	require.NotEmpty(t, runs[0].Disk)
	require.Equal(t, []string{"x", "3 < 4"}, must.Do(runs.Row("a", "x"))(t))
	_, err := runs.Row("b", "x")
	require.ErrorIs(t, err, errNothing)
}

// A page without a place for a table is not written.
func TestShowNeedsAPlace(t *testing.T) {
	docs := folder(t, "| run | x |\n| --- | --- |\n")
	err := Runs{{Name: "one", Tables: []Table{{Head: []string{"a", "b"}}}}}.Show(docs)
	require.ErrorContains(t, err, "0 places match")
}

func TestTableIsItsMarkdown(t *testing.T) {
	table := Table{Head: []string{"a", "b"}, Rows: [][]string{{"1", ""}, {"2", "x, y"}}}
	require.Equal(t, table, Parse(table.String()))
}

func TestWrap(t *testing.T) {
	for line := range strings.Lines(wrap(strings.Repeat("word ", 100))) {
		require.LessOrEqual(t, len(line), 120, "with its end")
	}
}

func TestGrouped(t *testing.T) {
	for text, v := range map[string]float64{"0": 0.2, "999": 999, "1,000": 999.6, "1,234,567": 1234567} {
		require.Equal(t, text, Grouped(v))
	}
}
