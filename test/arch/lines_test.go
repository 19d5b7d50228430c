package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// columns returns the width of a text without line ends. A tab is four columns.
func columns(text []byte) int { return utf8.RuneCount(text) + 3*bytes.Count(text, []byte("\t")) }

// captured matches a string of hexadecimal digits as they were captured: it is compared with captures as it is.
var captured = regexp.MustCompile(`^"[0-9a-f ]{64,}"$`)

// dataColumns returns how many columns of each line, by its number from 1, belong to literals that cannot be broken
// without a change of what they say: captured bytes, the tags of fields, and raw strings over several lines.
func dataColumns(set *token.FileSet, tree *ast.File, lines [][]byte) map[int]int {
	data := map[int]int{}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			isRaw := n.Value[0] == '`' && strings.Contains(n.Value, "\n")
			if n.Kind != token.STRING || !isRaw && !tags[n] && !captured.MatchString(n.Value) {
				break
			}
			first, last := set.Position(n.Pos()), set.Position(n.End())
			for at := first.Line; at <= last.Line; at++ {
				from, to := 0, len(lines[at-1])
				if at == first.Line {
					from = first.Column - 1
				}
				if at == last.Line {
					to = last.Column - 1
				}
				data[at] += columns(lines[at-1][from:to])
			}
		}
		return true
	})
	return data
}

func TestLinesEndBeforeColumn120(t *testing.T) {
	for _, f := range files(t) {
		lines := bytes.Split(f.text, []byte("\n"))
		data := dataColumns(fileSet, f.ast, lines)
		onlyComments := ast.IsGenerated(f.ast)
		isComment := map[int]bool{}
		for _, group := range f.ast.Comments {
			first, last := fileSet.Position(group.Pos()).Line, fileSet.Position(group.End()).Line
			for at := first; at <= last; at++ {
				isComment[at] = true
			}
		}
		for i, line := range lines {
			at := i + 1
			if width := columns(line) - data[at]; width >= 120 && (!onlyComments || isComment[at]) {
				t.Errorf("%s:%d: the line has %d columns: break it before column 120", f.name, at, width)
			}
		}
	}
}

func TestColumns(t *testing.T) {
	require.Equal(t, 8, columns([]byte("\t// a")))
	require.Equal(t, 2, columns([]byte("\u00e9\u00e9")))
}

func TestDataColumns(t *testing.T) {
	hex := strings.Repeat("00ff ", 13)
	text := "package a\n" +
		"type t struct{ a int `json:\"a\"` }\n" +
		"const b = \"" + hex + "\" // captured\n" +
		"const c = `one` + \"two\" + \"00ff\"\n" +
		"const d = `one\n" +
		"\ttwo` + e\n"
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "a.go", text, parser.ParseComments)
	require.NoError(t, err)
	require.Equal(t, map[int]int{2: len("`json:\"a\"`"), 3: len(hex) + 2, 5: len("`one"), 6: len("    two`")},
		dataColumns(set, tree, bytes.Split([]byte(text), []byte("\n"))))
}
