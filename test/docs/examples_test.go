package docs

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateExamples = flag.Bool("docs.update-examples", false,
	"write the examples into the pages, instead of comparing them")

// snippet is Go in a page, with the comment in front of it that names the folder and the example it is taken from.
var snippet = regexp.MustCompile("(?ms)(?:^<!-- (\\S+) (Example\\w*) -->\n)?^```go\n(.*?)^```\n")

// What the pages for programmers show is an example that runs. (The pages of recipes are compared by their tests.)
func TestProgrammersPagesShowExamples(t *testing.T) {
	shown := 0
	for _, page := range []string{"CLIENT.md", "EMBED.md"} {
		name := filepath.Join("..", "..", "docs", page)
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		text := snippet.ReplaceAllStringFunc(string(raw), func(found string) string {
			parts := snippet.FindStringSubmatch(found)
			body, ok := examplesOf(t, parts[1])[parts[2]]
			require.True(t, ok, "%s: this is from no example (%q of %q):\n%s", page, parts[2], parts[1], parts[3])
			shown++
			return "<!-- " + parts[1] + " " + parts[2] + " -->\n```go\n" + body + "```\n"
		})
		if *updateExamples {
			require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
			continue
		}
		require.Equal(t, text, string(raw), "%s: go test ./test/docs -run ShowExamples -docs.update-examples", page)
	}
	require.Greater(t, shown, 5)
}

// examplesOf returns the bodies of the examples in a folder by their names.
func examplesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	require.NoError(t, err)
	bodies := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, name, text, 0)
		require.NoError(t, err)
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
				continue
			}
			body := text[files.Position(f.Body.Lbrace).Offset+2 : files.Position(f.Body.Rbrace).Offset]
			bodies[f.Name.Name] = strings.TrimPrefix(strings.ReplaceAll("\n"+string(body), "\n\t", "\n"), "\n")
		}
	}
	return bodies
}
