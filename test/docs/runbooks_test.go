package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Each runbook says what its reader needs, does, checks and undoes, in this order and before all else, and is in the
// index.
func TestRunbooksHaveOneForm(t *testing.T) {
	index := must.ReadFile(t, "../../docs/OPERATIONS.md")
	names := must.Glob(t, "../../docs/runbooks/*.md")
	require.Greater(t, len(names), 15)
	for _, name := range names {
		text := must.ReadFile(t, name)
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

// A reader may come to a runbook first: it links to the steps before its own, and to those that define what it uses.
func TestRunbooksSayWhereTheirExampleBegins(t *testing.T) {
	const ensemble, super = "start-an-ensemble.md", "turn-on-reconfiguration.md"
	defined := map[string]*regexp.Regexp{
		ensemble: regexp.MustCompile(`(?m)(^|[;(] ?) *(start|stop|healthy|leader_last)\b`),
		super:    regexp.MustCompile(`\$super\b`),
	}
	linking := 0
	for _, p := range readPages(t) {
		if !strings.HasPrefix(p.name, "docs/runbooks/") || len(p.blocks) == 0 {
			continue
		}
		text := must.ReadFile(t, filepath.Join("../..", p.name))
		needs := map[string]bool{filepath.Base(p.first): p.first != ""}
		for _, b := range p.blocks {
			for page, uses := range defined {
				needs[page] = needs[page] || uses.MatchString(b.text)
			}
		}
		for page, isNeeded := range needs {
			if isNeeded && page != filepath.Base(p.name) {
				require.Contains(t, string(text), "]("+page+"#you-do)", p.name)
				linking++
			}
		}
	}
	require.Greater(t, linking, 15)
}
