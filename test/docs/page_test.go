package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is one document.
type page struct {
	name   string // as docs/OPERATIONS.md
	blocks []block
	lines  []line // of code that is not in a block that runs, and commands in the text
}

// block is a fenced block of code that runs.
type block struct {
	at   int // line of its first line
	text string
}

// line is one line of code, continuation lines joined.
type line struct {
	at   int
	text string
}

// span is a command in the text: in backquotes, beginning with warren and a blank.
var span = regexp.MustCompile("`(warren [^`]+)`")

// readPages reads README.md and the pages in docs.
func readPages(t *testing.T) (pages []page) {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	for _, file := range append(files, "../../README.md") {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		p, err := parsePage(strings.TrimPrefix(filepath.ToSlash(file), "../../"), string(b))
		require.NoError(t, err)
		pages = append(pages, p)
	}
	require.Greater(t, len(pages), 5)
	return pages
}

// parsePage finds the code in a page.
func parsePage(name, text string) (page, error) {
	p := page{name: name}
	fence, runs, began := "", false, 0
	var code strings.Builder
	joined, joinedAt := "", 0
	for i, s := range strings.Split(text, "\n") {
		at := i + 1
		trimmed := strings.TrimSpace(s)
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			info := strings.Fields(strings.TrimLeft(trimmed, "`"))
			if len(info) > 0 && info[0] != "sh" && strings.Contains(strings.Join(info, " "), "run") {
				return p, fmt.Errorf("%s:%d: only sh runs, not %q", name, at, trimmed)
			}
			if len(info) > 1 && info[0] == "sh" && (info[1] != "run" || len(info) > 2) {
				return p, fmt.Errorf("%s:%d: %q is neither sh nor sh run", name, at, trimmed)
			}
			fence, runs, began = trimmed[:3], len(info) == 2 && info[0] == "sh", at+1
			code.Reset()
		case fence != "" && trimmed == fence:
			if runs {
				p.blocks = append(p.blocks, block{began, code.String()})
			}
			fence, runs = "", false
		case runs:
			code.WriteString(s + "\n")
		case fence != "" || strings.HasPrefix(s, "    "):
			if joined == "" {
				joinedAt = at
			}
			if more, found := strings.CutSuffix(trimmed, `\`); found {
				joined += more
				continue
			}
			p.lines = append(p.lines, line{joinedAt, joined + trimmed})
			joined = ""
		default:
			for _, m := range span.FindAllStringSubmatch(s, -1) {
				p.lines = append(p.lines, line{at, m[1]})
			}
		}
	}
	if fence != "" {
		return p, fmt.Errorf("%s:%d: the block does not end", name, began)
	}
	return p, nil
}

func TestParsePage(t *testing.T) {
	p, err := parsePage("a.md", strings.Join([]string{
		"Text with `warren wal verify DIR` and `other`.", "", "    warren server \\", "      --config x", "```sh run", "one", "  two", "```",
		"```sh", "sudo warren status", "```", "```", "text", "```",
	}, "\n"))
	require.NoError(t, err)
	require.Equal(t, []block{{6, "one\n  two\n"}}, p.blocks)
	require.Equal(t, []line{{1, "warren wal verify DIR"}, {3, "warren server --config x"}, {10, "sudo warren status"}, {13, "text"}}, p.lines)

	for text, problem := range map[string]string{
		"```sh run\none":       "a.md:2: the block does not end",
		"```sh runs\none\n```": `a.md:1: "` + "```sh runs" + `" is neither sh nor sh run`,
		"```go run\none\n```":  "a.md:1: only sh runs",
	} {
		_, err := parsePage("a.md", text)
		require.ErrorContains(t, err, problem)
	}
}
