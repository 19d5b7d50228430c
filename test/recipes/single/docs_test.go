package single_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/page"
)

var updateDocs = flag.Bool("recipes.update-docs", false,
	"write the examples into the pages, instead of comparing them")

// docsFolder has a page for each recipe, and an index.
var docsFolder = filepath.Join("..", "..", "..", "docs", "recipes")

// snippet is a piece of Go in a page, with the comment in front of it that names the example it is taken from.
var snippet = regexp.MustCompile("(?ms)(?:^<!-- (Example\\w*) -->\n)?^```go\n(.*?)^```\n")

// examples returns the bodies of the package's examples by their names, as a page shows them.
func examples(t *testing.T) map[string]string {
	return page.Examples(t, filepath.Join("..", "..", "..", "recipes"))
}

// What a page shows is an example that runs.
func TestPagesShowExamples(t *testing.T) {
	bodies := examples(t)
	pages := must.Glob(t, filepath.Join(docsFolder, "*.md"))
	shown := map[string]bool{}
	for _, file := range append(pages, filepath.Join(docsFolder, "..", "FROM-CURATOR.md")) {
		raw := must.ReadFile(t, file)
		text := snippet.ReplaceAllStringFunc(string(raw), func(found string) string {
			parts := snippet.FindStringSubmatch(found)
			body, ok := bodies[parts[1]]
			require.True(t, ok, "%s: this is from no example of the package (%q):\n%s", file, parts[1], parts[2])
			shown[parts[1]] = true
			return "<!-- " + parts[1] + " -->\n```go\n" + body + "```\n"
		})
		if *updateDocs {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			continue
		}
		require.Equal(t, text, string(raw),
			"%s: go test ./test/recipes/single -run TestPagesShow -recipes.update-docs", file)
	}
	for name := range bodies {
		require.True(t, shown[name], "no page shows %s", name)
	}
}

// Every page is in the index. Where links lead is checked in test/docs.
func TestPagesAreLinked(t *testing.T) {
	pages := must.Glob(t, filepath.Join(docsFolder, "*.md"))
	require.Greater(t, len(pages), 20)
	index := must.ReadFile(t, filepath.Join(docsFolder, "README.md"))
	for _, page := range append(pages, filepath.Join(docsFolder, "..", "FROM-CURATOR.md")) {
		from := must.Do(filepath.Rel(docsFolder, page))(t)
		if from != "README.md" {
			require.Contains(t, string(index), "("+filepath.ToSlash(from)+")", "not in the index")
		}
	}
}

// Every page of a recipe can be read alone: it has the same parts, a picture of the znodes among them, and does not
// send the reader elsewhere for what is guaranteed.
func TestPagesStandAlone(t *testing.T) {
	pages := must.Glob(t, filepath.Join(docsFolder, "*.md"))
	for _, page := range pages {
		if filepath.Base(page) == "README.md" {
			continue
		}
		text := must.ReadFile(t, page)
		rest := string(text)
		for _, part := range []string{
			"\n## Znodes\n\n```\n/", "\n## Protocol\n", "\n## Guarantee\n", "\n## What breaks it\n", "\n## Example\n",
		} {
			_, after, ok := strings.Cut(rest, part)
			require.True(t, ok, "%s: no %q in its place", page, part)
			if part == "\n## Guarantee\n" {
				require.NotRegexp(t, `^\s*- That of`, after, page)
			}
			rest = after
		}
	}
}
