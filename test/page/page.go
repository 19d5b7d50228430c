// Package page writes what was measured into the pages of the documents, and finds the examples that they show.
package page

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// ReplaceTable puts a table in the place of the only one of a page whose head begins with the same cell. It does
// nothing if file is "" or the test has failed.
func ReplaceTable(t testing.TB, file, table string) {
	t.Helper()
	if file == "" || t.Failed() {
		return
	}
	text := must.ReadFile(t, file)
	first := regexp.MustCompile(`^\|[^|]*\|`).FindString(table)
	old := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(first) + `.*\n(\|.*\n)*`)
	if n := len(old.FindAll(text, -1)); first == "" || n != 1 {
		t.Fatalf("%s has %d tables that begin with %q", file, n, first)
	}
	require.NoError(t, os.WriteFile(file, old.ReplaceAllLiteral(text, []byte(table)), 0o644))
}
