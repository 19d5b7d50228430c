package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The walks of DESIGN.md name functions and the files that have them: a newcomer follows them line by line.
func TestWalksNameFunctionsThatExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/DESIGN.md")
	require.NoError(t, err)
	quoted := regexp.MustCompile("`([^`]+)`")
	function := regexp.MustCompile(`^(\w+)\.(\w+)$`)
	walks := strings.Split(string(page), "\n### A walk: ")[1:]
	require.Len(t, walks, 2)
	for _, walk := range walks {
		walk, _, _ = strings.Cut(walk, "\n### ")
		named := 0
		for _, row := range strings.Split(walk, "\n") {
			cells := strings.Split(row, "|")
			if len(cells) != 5 {
				continue
			}
			source := ""
			for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
				source += sourceOf(t, m[1])
			}
			for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
				f := function.FindStringSubmatch(m[1])
				if f == nil || f[1] == "Store" { // a field
					continue
				}
				named++
				is := regexp.MustCompile(`(?m)^func \(\w* ?\*?` + f[1] + `\) ` + f[2] + `\(`)
				assert.True(t, is.MatchString(source), "%s is not in %s", m[1], cells[3])
			}
		}
		require.Greater(t, named, 5)
	}
}

// sourceOf is the text of a file that DESIGN.md names: below server/internal, or from the top.
func sourceOf(t *testing.T, name string) string {
	for _, dir := range []string{"../../server/internal", "../.."} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return string(text)
		}
	}
	require.Fail(t, "no such file", name)
	return ""
}
