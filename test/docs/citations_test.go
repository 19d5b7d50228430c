package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// citationsLeast is fewer than there are: a search that finds fewer is broken.
const citationsLeast = 700

// What comments, test data and pages cite is in the repository, and is cited in one form.
func TestCitations(t *testing.T) {
	c := readCited(t)
	checked := 0
	require.NoError(t, filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "data"}, d.Name()) {
			return filepath.SkipDir
		}
		isText := slices.Contains([]string{".go", ".md", ".def", ".txt", ".hex"}, filepath.Ext(file))
		if err != nil || d.IsDir() || !isText || d.Name() == "citations_test.go" { // this file cites wrongly
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		n, problems := c.check(filepath.ToSlash(strings.TrimPrefix(file, "../../")), string(b))
		checked += n
		for _, p := range problems {
			t.Error(p)
		}
		return nil
	}))
	require.Greater(t, checked, citationsLeast)
}

var (
	commentMark = regexp.MustCompile(`(?m)^[ \t]*(?://|#)+`)
	comment     = regexp.MustCompile(`//.*`)
	bareRule    = regexp.MustCompile(`\b[BDR]\d{1,2}a?\b`)

	aSection = regexp.MustCompile(`(?i)\b(?:sections?|scenarios?)\s+(\d+(?:\.\d+)*)`)
	// What stands before "section 2" or "scenario 2" if another text is meant, or the page and its section are named.
	elsewhere = regexp.MustCompile(`(?:\d|RFC\s+\d+,?|\bpaper(?:'s)?,?|DSN11|Med12)\s+$`)
)

// check resolves what a file cites. It returns how many citations there are, and what is wrong.
func (c cited) check(file, content string) (checked int, problems []string) {
	text := content
	isPage := strings.HasSuffix(file, ".md")
	if isPage {
		text = fenced.ReplaceAllStringFunc(text, func(code string) string {
			return strings.Repeat("\n", strings.Count(code, "\n"))
		})
	} else {
		text = commentMark.ReplaceAllStringFunc(text, func(mark string) string {
			return strings.Repeat(" ", len(mark))
		})
	}
	wrong := func(in string, at int, why string) {
		problems = append(problems, fmt.Sprintf("%s:%d: %s", file, 1+strings.Count(in[:at], "\n"), why))
	}
	resolve := func(in string, q citation) {
		checked++
		if why := c.resolve(q); why != "" {
			wrong(in, q.at, why)
		}
	}
	found, forms := citations(text)
	for _, q := range found {
		resolve(text, q)
	}
	for _, f := range forms {
		wrong(text, f.at, f.why)
	}
	// A section without a page is one of the same page, if that has sections. Comments name the page.
	own := strings.TrimSuffix(strings.TrimPrefix(file, "docs/protocol/"), ".md")
	for _, m := range aSection.FindAllStringSubmatchIndex(text, -1) {
		switch {
		case elsewhere.MatchString(text[max(0, m[0]-40):m[0]]):
		case c.pages[own] != nil:
			resolve(text, citation{page: own, section: text[m[2]:m[3]], at: m[0]})
		case !isPage:
			wrong(text, m[0], "the name of the page is missing")
		}
	}
	if isPage {
		return checked, problems
	}
	// B7, D3 and R16 stand for quorum-protocol also where they stand alone.
	for _, line := range comment.FindAllStringIndex(content, -1) {
		for _, m := range bareRule.FindAllStringIndex(content[line[0]:line[1]], -1) {
			at := line[0] + m[0]
			resolve(content, citation{page: "quorum-protocol", name: content[at : line[0]+m[1]], at: at})
		}
	}
	return checked, problems
}

// The search finds citations in every form, and what is wrong with them.
func TestCitationsAreChecked(t *testing.T) {
	c := readCited(t)
	const code, page, protocol = "zab/x.go", "docs/X.md", "docs/protocol/storage.md"
	for _, test := range []struct {
		file, text string
		checked    int
		problems   []string
	}{
		{code, "// Source: quorum-protocol 6.8.\n", 1, nil},
		{code, "// Source: storage 4.6 and 6.3, server-semantics 10.2, 10.4, 10.6; operations 1.\n", 6, nil},
		{code, "// Source: quorum-protocol 6.8 S2, S5.\n", 2, nil},
		{code, "// It is so: quorum-protocol\n\t// 6.8, 14.3\n// R16.\n", 3, nil}, // with R16 alone
		{code, "x() // quorum-protocol 5.2 step 7, quorum-protocol 11.4 steps 2 to 6\n", 3, nil},
		{code, "// quorum-protocol 16 vectors 3a and 17, 6.3 rule 2, B7\n", 5, nil},
		{code, "// quorum-protocol 15.5.3 and 15.5.10, operations 9.1.3.\n", 3, nil},
		{code, "// client-protocol V45, client-protocol 16.9 V45, server-semantics 16.5 scenario 75", 3, nil},
		{code, "// The guarantees 2 and 3. Guarantee 4, adr 0009, docs/adr/0001-disk-format.md", 5, nil},
		{code, "// RFC 2831, section 2.1; the paper's section 2.4; 12 operations; storage of 5 bytes", 0, nil},
		{page, "See [storage](x.md), section 99.\n```\nstorage 99\n```\nB99", 0, nil},
		{protocol, "As section 6.1 says.", 1, nil},

		{code, "\n// Source: quorum-protocol 6.10.\n", 1, []string{"zab/x.go:2: quorum-protocol has no section 6.10"}},
		{code, "// storage 6.3 and 18\n", 2, []string{"storage has no section 18"}},
		{code, "// operations 1.1, 1.99.\n", 2, []string{"operations has no section 1.99"}},
		{code, "// storage 6.1.2.3\n", 1, []string{"storage has no section 6.1.2.3"}},
		{code, "// quorum-protocol 6.8 S8\n", 1, []string{"quorum-protocol has no S8 in section 6.8"}},
		{code, "// quorum-protocol 6.9 S1\n", 1, []string{"quorum-protocol has no S1 in section 6.9"}},
		{code, "// as R16 and B99 say\n", 2, []string{"quorum-protocol has no B99"}},
		{code, "// client-protocol V99\n", 1, []string{"client-protocol has no V99"}},
		{code, "// quorum-protocol 6.3 rules 2 and 9\n", 2, []string{"no row, step or item 9 in section 6.3"}},
		{code, "// quorum-protocol 15.5.17\n", 1, []string{"quorum-protocol has no section 15.5.17"}},
		{code, "// quorum-protocol 16 vector 44\n", 1, []string{"no row, step or item 44 in section 16"}},
		{code, "// server-semantics 16.2 scenario 75\n", 1, []string{"no row, step or item 75 in section 16.2"}},
		{code, "// Guarantees 16 and 17.\n", 2, []string{"there is no guarantee 17"}},
		{code, "// adr 0099\n", 1, []string{"there is no adr 0099"}},
		{page, "[x](adr/0099-x.md)\n", 1, []string{"docs/X.md:1: there is no adr 0099"}},
		{page, "one\n```\ncode\n```\nstorage 6.99\n", 1, []string{"docs/X.md:5: storage has no section 6.99"}},
		{protocol, "As section 6.99 says.", 1, []string{"storage has no section 6.99"}},

		{code, "// storage section 6.3\n", 0,
			[]string{"the number follows the page", "the name of the page is missing"}},
		{page, "storage.md 6.3\n", 0, []string{"pages are cited without .md"}},
		{code, "// Storage 6.3\n", 0, []string{"names of pages are in lower case"}},
		{code, "// design, guarantee 5\n", 1, []string{`cited as "guarantee 5"`}},
		{code, "// ADR 9, adr/0009, adr 9\n", 0, slices.Repeat([]string{`cited as "adr 0009"`}, 3)},
		{code, "// Source: 6.8.\n", 0, []string{"the name of the page is missing"}},
		{code, "// as section 6.8 says; scenario 75\n", 0,
			slices.Repeat([]string{"the name of the page is missing"}, 2)},
	} {
		checked, problems := c.check(test.file, test.text)
		require.Equal(t, test.checked, checked, test.text)
		require.Len(t, problems, len(test.problems), "%s: %q", test.text, problems)
		for i, want := range test.problems {
			require.Contains(t, problems[i], want)
		}
	}
}
