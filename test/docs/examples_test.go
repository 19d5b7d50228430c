package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	testpage "github.com/seed94657493/warren/test/page"
)

var updateExamples = flag.Bool("docs.update-examples", false,
	"write the examples into the pages, instead of comparing them")

// snippet is Go in a page, with the comment in front of it that names the folder and the example it is taken from.
var snippet = regexp.MustCompile("(?ms)(?:^<!-- (\\S+) (Example\\w*) -->\n)?^```go\n(.*?)^```\n")

// What the pages for programmers show is an example that runs. (The pages of recipes are compared by their tests.)
func TestProgrammersPagesShowExamples(t *testing.T) {
	shown := 0
	for _, file := range []string{"CLIENT.md", "EMBED.md"} {
		name := filepath.Join("..", "..", "docs", file)
		raw := must.ReadFile(t, name)
		text := snippet.ReplaceAllStringFunc(string(raw), func(found string) string {
			parts := snippet.FindStringSubmatch(found)
			body, ok := testpage.Examples(t, filepath.Join("..", "..", parts[1]))[parts[2]]
			require.True(t, ok, "%s: this is from no example (%q of %q):\n%s", file, parts[2], parts[1], parts[3])
			shown++
			return "<!-- " + parts[1] + " " + parts[2] + " -->\n```go\n" + body + "```\n"
		})
		if *updateExamples {
			require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
			continue
		}
		require.Equal(t, text, string(raw), "%s: go test ./test/docs -run ShowExamples -docs.update-examples", file)
	}
	require.Greater(t, shown, 5)
}
