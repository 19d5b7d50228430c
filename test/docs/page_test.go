package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// page is one document.
type page struct {
	name   string // as docs/OPERATIONS.md
	first  string // the page beside it whose steps come first, "" if it needs none
	files  []file
	blocks []block
	hosted []block // those that run on the hosts of hosts_test.go
	lines  []line  // of code that is not in a block that runs, and commands in the text
}

// file is a fenced block of code that a reader saves.
type file struct{ name, text string }

// block is a fenced block of code that runs.
type block struct {
	at    int    // line of its first line
	under string // the heading of the second level before it
	text  string
}

// line is one line of code, continuation lines joined.
type line struct {
	at   int
	text string
}

// span is a command in the text: in backquotes, beginning with warren and a blank.
var span = regexp.MustCompile("`(warren [^`]+)`")

// readPages reads every page of the repository.
func readPages(t *testing.T) (pages []page) {
	t.Helper()
	const root = "../.."
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "data"}, d.Name()) {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(file) != ".md" {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		p, err := parsePage(filepath.ToSlash(name), string(b))
		pages = append(pages, p)
		return err
	}))
	names := make([]string, len(pages))
	for i, p := range pages {
		names[i] = p.name
	}
	for _, name := range []string{
		"README.md", "docs/OPERATIONS.md", "docs/recipes/mutex.md", "docs/adr/0001-disk-format.md",
		"proto/gen/README.md",
	} {
		require.Contains(t, names, name)
	}
	return pages
}

// typed begins a line that a reader is to type into a shell.
var typed = regexp.MustCompile(`^(\$ )?(sudo |exec )?(\./|bin/)?` +
	`(warren|zk\w+\.sh|make|go|git|curl|docker|kubectl|systemctl|java|sh|echo|nc)( |$)`)

// reasonLeast is the fewest letters of a reason.
const reasonLeast = 10

// notRun is the comment on the line before a block of sh that does not run, or only with the tag interop.
var notRun = regexp.MustCompile(`^<!-- (not run|interop): *(.*?) *-->$`)

// runsOn is the comment on the line before a block of sh that runs on the hosts of hosts_test.go.
const runsOn = "<!-- runs on: zk1, zk2, zk3 -->"

// saved is the comment on the line before a block that is a file.
var saved = regexp.MustCompile(`^<!-- file: (\S+) -->$`)

// comesFirst is the comment that names the page whose steps come first.
var comesFirst = regexp.MustCompile(`^<!-- first: (\S+\.md) -->$`)

// isRun reports whether a block runs of which the info string and the line before are given, or what is wrong.
func isRun(info, before string) (runs bool, problem string) {
	kind, rest, _ := strings.Cut(info, " ")
	reason := notRun.FindStringSubmatch(before)
	switch {
	case strings.Contains(rest, "run"):
		return false, "a reason not to run it is a comment on the line before: <!-- not run: REASON -->"
	case kind != "sh" && reason != nil:
		return false, "only sh runs"
	case reason != nil && len(reason[2]) < reasonLeast:
		return false, "the reason is missing"
	}
	return kind == "sh" && (reason == nil || reason[1] == "interop" && withInterop), ""
}

// parsePage finds the code in a page.
func parsePage(name, text string) (page, error) {
	p := page{name: name}
	fence, kind, under, saves, runs, hosted, began := "", "", "", "", false, false, 0
	var code strings.Builder
	joined, joinedAt, before := "", 0, ""
	lines := strings.Split(text, "\n")
	for i, s := range lines {
		at := i + 1
		trimmed := strings.TrimSpace(s)
		if i > 0 {
			before = strings.TrimSpace(lines[i-1])
		}
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			info := strings.TrimLeft(trimmed, "`")
			var problem string
			if runs, problem = isRun(info, before); problem != "" {
				return p, fmt.Errorf("%s:%d: %q: %s", name, at, trimmed, problem)
			}
			kind, _, _ = strings.Cut(info, " ")
			hosted = before == runsOn
			saves = ""
			if m := saved.FindStringSubmatch(before); m != nil {
				saves = m[1]
			}
			fence, began = trimmed[:3], at+1
			code.Reset()
		case fence != "" && trimmed == fence:
			if hosted {
				p.hosted = append(p.hosted, block{began, under, code.String()})
			} else if runs {
				p.blocks = append(p.blocks, block{began, under, code.String()})
			} else if saves != "" {
				p.files = append(p.files, file{saves, code.String()})
			}
			fence, kind, runs = "", "", false
		case runs || fence != "" && saves != "":
			code.WriteString(s + "\n")
		case fence != "" || strings.HasPrefix(s, "    "):
			if joined == "" {
				joinedAt = at
			}
			if (kind == "" || kind == "text") && typed.MatchString(trimmed) && !isOutput(trimmed) {
				return p, fmt.Errorf("%s:%d: %q is a command: put it into a block of sh", name, at, trimmed)
			}
			if more, found := strings.CutSuffix(trimmed, `\`); found {
				joined += more
				continue
			}
			p.lines = append(p.lines, line{joinedAt, joined + trimmed})
			joined = ""
		case strings.HasPrefix(s, "## "):
			under = strings.TrimPrefix(s, "## ")
		case comesFirst.MatchString(s):
			p.first = path.Join(path.Dir(name), comesFirst.FindStringSubmatch(s)[1])
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

// isOutput reports whether a line that begins as a command does is what warren prints when it starts.
func isOutput(line string) bool { return strings.Contains(line, " clients on ") }

func TestParsePage(t *testing.T) {
	p, err := parsePage("a.md", strings.Join([]string{
		"<!-- first: b.md -->", "## You do", "Text with `warren wal verify DIR` and `other`.", "",
		"<!-- not run: it is an example -->", "```sh",
		"warren server \\", "  --config x", "```", "```sh", "one", "  two", "```",
		"<!-- not run: it takes root -->", "```sh", "sudo warren status", "```", "```", "text", "```", "    a = b",
		"<!-- file: a/b.go -->", "```go", "package a", "```", runsOn, "```sh", "warren status zk1", "```",
	}, "\n"))
	require.NoError(t, err)
	require.Equal(t, "b.md", p.first)
	require.Equal(t, []file{{"a/b.go", "package a\n"}}, p.files)
	require.Equal(t, []block{{11, "You do", "one\n  two\n"}}, p.blocks)
	require.Equal(t, []block{{28, "You do", "warren status zk1\n"}}, p.hosted)
	require.Equal(t, []line{{3, "warren wal verify DIR"}, {7, "warren server --config x"}, {16, "sudo warren status"},
		{19, "text"}, {21, "a = b"}}, p.lines)

	for text, problem := range map[string]string{
		"```sh\none":                             "a.md:2: the block does not end",
		"```sh run\none\n```":                    "is a comment on the line before",
		"```sh not run: why\none\n```":           "is a comment on the line before",
		"<!-- not run: -->\n```sh\none\n```":     "the reason is missing",
		"<!-- not run: why-->\n```sh\none\n```":  "a.md:2: \"```sh\": the reason is missing",
		"<!-- not run: it is Go -->\n```go\n```": "only sh runs",
		"```\nwarren status\n```":                `a.md:2: "warren status" is a command`,
		"text\n\n    $ make test\n":              `a.md:3: "$ make test" is a command`,
		"    sudo systemctl start warren":        "is a command",
		"    ./zkServer.sh status":               "is a command",
		"```text\ncurl http://a\n```":            "is a command",
	} {
		_, err := parsePage("a.md", text)
		require.ErrorContains(t, err, problem)
	}
}

// Lines of text end before column 120. Tables, pictures, comments and lines that begin with code may be longer.
func TestLinesOfTextEndBeforeColumn120(t *testing.T) {
	checked := 0
	for _, p := range readPages(t) {
		text := must.ReadFile(t, filepath.Join("../..", p.name))
		for line := range strings.SplitSeq(fenced.ReplaceAllString(string(text), ""), "\n") {
			if strings.HasPrefix(line, "    ") || slices.ContainsFunc([]string{"|", "![", "<!--", "#", "`"},
				func(mark string) bool { return strings.HasPrefix(strings.TrimSpace(line), mark) }) {
				continue
			}
			checked++
			require.Less(t, utf8.RuneCountInString(line), 120, "%s: %s", p.name, line)
		}
	}
	require.Greater(t, checked, 5000)
}
