package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	namedTest    = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	notRunBut    = regexp.MustCompile(`(?m)<!-- not run: .*\b(Test[A-Z]\w*)`)
	namedSource  = regexp.MustCompile(`^[\w./-]+\.go$`)
)

// Source files and tests that the pages name exist. The changelog is not read: it tells of earlier versions.
func TestNamedSourcesExist(t *testing.T) {
	files, tests := map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range testFunction.FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = true
		}
		// a page may name a file by the end of its path
		name := filepath.ToSlash(file)
		for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
			files[name[at+1:]] = true
		}
		return nil
	}))
	checked := 0
	for _, p := range readPages(t) {
		if strings.HasPrefix(p.name, "docs/protocol/") || p.name == "CHANGELOG.md" {
			continue
		}
		b := must.ReadFile(t, filepath.Join("..", "..", p.name))
		for _, m := range notRunBut.FindAllStringSubmatch(string(b), -1) {
			assert.True(t, tests[m[1]], "%s: the test %s, which runs a block, does not exist", p.name, m[1])
			checked++
		}
		for _, m := range backquoted.FindAllStringSubmatch(fenced.ReplaceAllString(string(b), ""), -1) {
			switch name := m[1]; {
			case namedSource.MatchString(name):
				assert.True(t, files[name], "%s names %s, which does not exist", p.name, name)
			case namedTest.MatchString(name):
				assert.True(t, tests[name], "%s names the test %s, which does not exist", p.name, name)
			default:
				continue
			}
			checked++
		}
	}
	require.Greater(t, checked, 100)
}
