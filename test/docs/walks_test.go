package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The walks of DESIGN.md name functions and the files that have them: a newcomer follows them line by line.
func TestWalksNameFunctionsThatExist(t *testing.T) {
	function := regexp.MustCompile(`^(\w+)\.(\w+)$`)
	for _, walk := range walks(t) {
		named := 0
		for _, cells := range rows(walk) {
			source := ""
			for _, m := range backquoted.FindAllStringSubmatch(cells[3], -1) {
				source += sourceOf(t, m[1])
			}
			for _, m := range backquoted.FindAllStringSubmatch(cells[2], -1) {
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

// Bounds of the paths of a write and of a deletion in the console. A change that needs more files or packages makes a
// path harder to follow.
var walkBounds = map[int]struct{ files, packages int }{0: {16, 9}, 2: {8, 3}}

// The tables name few files and packages, and DESIGN.md says how many.
func TestWalksPassThroughFewFiles(t *testing.T) {
	all := walks(t)
	for i, most := range walkBounds {
		files, packages := map[string]bool{}, map[string]bool{}
		for _, cells := range rows(all[i]) {
			for _, m := range backquoted.FindAllStringSubmatch(cells[3], -1) {
				files[m[1]], packages[path.Dir(m[1])] = true, true
			}
		}
		assert.LessOrEqual(t, len(files), most.files)
		assert.LessOrEqual(t, len(packages), most.packages)
		assert.Contains(t, all[i], fmt.Sprintf("names %d files of %d packages", len(files), len(packages)))
	}
}

// walks returns the sections of DESIGN.md that follow a request: a write, a read, and a deletion in the console.
func walks(t *testing.T) []string {
	page := must.ReadFile(t, "../../docs/DESIGN.md")
	all := strings.Split(string(page), "\n### A walk: ")[1:]
	require.Len(t, all, 3)
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], "\n### ")
	}
	return all
}

// rows returns the cells of each row of the table of a walk: cell 2 has functions, cell 3 their files.
func rows(walk string) (all [][]string) {
	for row := range strings.SplitSeq(walk, "\n") {
		if cells := strings.Split(row, "|"); len(cells) == 5 {
			all = append(all, cells)
		}
	}
	return all
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
