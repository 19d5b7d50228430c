package docs

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnswersAreNear checks that every page QUESTIONS.md links to can also be reached from the README in two clicks,
// for readers who never open QUESTIONS.md. TestLinksLeadSomewhere checks that the links work.
func TestAnswersAreNear(t *testing.T) {
	near := map[string]bool{"README.md": true}
	for range 2 {
		for _, name := range slices.Sorted(maps.Keys(near)) {
			for _, to := range linksOf(t, name) {
				near[to] = true
			}
		}
	}
	questions := 0
	for _, line := range linesOf(t, "QUESTIONS.md") {
		if !isRow(line, "question") {
			continue
		}
		questions++
		require.Regexp(t, `^\| [A-Z].*\? \| .+ \| \[[^]]+\]\([^)]+\) \|$`, line)
		answer := link.FindStringSubmatch(line)[1]
		page, _, _ := strings.Cut(answer, "#")
		require.True(t, near[path.Join("docs", page)], "%s is more than two clicks from the README", page)
	}
	require.Equal(t, 20, questions)
}

// linksOf are the pages that a page other than QUESTIONS.md links to.
func linksOf(t *testing.T, name string) (pages []string) {
	t.Helper()
	if path.Ext(name) != ".md" || name == "docs/QUESTIONS.md" {
		return nil
	}
	text, err := os.ReadFile(path.Join("../..", name))
	require.NoError(t, err)
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		to, _, _ := strings.Cut(m[1], "#")
		if to != "" && !strings.Contains(to, "://") {
			pages = append(pages, path.Join(path.Dir(name), to))
		}
	}
	return pages
}
