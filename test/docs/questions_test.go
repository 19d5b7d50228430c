package docs

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Each of the twenty questions is answered two clicks from the README: the first opens QUESTIONS.md, and the second
// the section with the answer. Readers who never open QUESTIONS.md can also reach the answer's page in two clicks.
// TestLinksLeadSomewhere checks that the links work.
func TestAnswersAreNear(t *testing.T) {
	require.Contains(t, linksOf(t, "README.md"), "docs/QUESTIONS.md")
	near := map[string]bool{"README.md": true}
	for range 2 {
		for _, name := range slices.Sorted(maps.Keys(near)) {
			for _, to := range linksOf(t, name) {
				near[to] = true
			}
		}
	}
	questions, readers := map[string]bool{}, map[string]int{}
	reader := ""
	for _, line := range linesOf(t, "QUESTIONS.md") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			reader = title
		}
		if !isRow(line, "question") {
			continue
		}
		row := question.FindStringSubmatch(line)
		require.NotNil(t, row, line)
		require.False(t, questions[row[1]], "asked twice: %s", row[1])
		questions[row[1]] = true
		readers[reader]++
		page, title, _ := strings.Cut(row[2], "#")
		page = path.Join("docs", page)
		require.True(t, near[page], "%s is more than two clicks from the README", page)
		answer := sectionAt(t, page, title)
		require.Greater(t, len(strings.Fields(answer)), 20, "%s does not answer: %s", row[2], row[1])
	}
	require.Len(t, questions, 20)
	require.Len(t, readers, 3, "newcomers, operators and programmers")
	for reader, n := range readers {
		require.GreaterOrEqual(t, n, 5, reader)
	}
}

// question matches a row of QUESTIONS.md: the question, and the last link, to the whole answer.
var question = regexp.MustCompile(`^\| ([A-Z].*\?) \| .+ \| \[[^]]+\]\(([^)]+)\) \|$`)

// sectionAt is the text below the heading that a fragment leads to, with the sections inside it; without a fragment it
// is the whole page.
func sectionAt(t *testing.T, page, fragment string) string {
	t.Helper()
	b := must.ReadFile(t, path.Join("../..", page))
	if fragment == "" {
		return string(b)
	}
	text := fenced.ReplaceAllStringFunc(string(b), func(block string) string { // where # is no heading
		return strings.ReplaceAll(block, "#", " ")
	})
	var section strings.Builder
	level := 0
	for line := range strings.Lines(text) {
		if marks, title, ok := strings.Cut(line, " "); ok && marks != "" && strings.Trim(marks, "#") == "" {
			switch {
			case level == 0 && anchor(strings.TrimSpace(title)) == fragment:
				level = len(marks)
				continue
			case level > 0 && len(marks) <= level:
				return section.String()
			}
		}
		if level > 0 {
			section.WriteString(line)
		}
	}
	return section.String()
}

// linksOf are the pages that a page other than QUESTIONS.md links to.
func linksOf(t *testing.T, name string) (pages []string) {
	t.Helper()
	if path.Ext(name) != ".md" || name == "docs/QUESTIONS.md" {
		return nil
	}
	text := must.ReadFile(t, path.Join("../..", name))
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		to, _, _ := strings.Cut(m[1], "#")
		if to != "" && !strings.Contains(to, "://") {
			pages = append(pages, path.Join(path.Dir(name), to))
		}
	}
	return pages
}
