package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// section is a numbered part of a page, with all parts below it.
type section struct {
	rows  map[string]bool // the numbers of rows of tables and of items of lists, as 3a
	names map[string]bool // what has a name, as B7, S5 and V45
}

// cited is what a citation can lead to.
type cited struct {
	pages      map[string]map[string]*section // page, number of the section; "" is the whole page
	guarantees map[string]bool
	decisions  map[string]bool // the four digits of an adr
}

var (
	numbered = regexp.MustCompile(`^#{2,4} (\d+(?:\.\d+)*[a-z]?)\.? `)
	unnamed  = regexp.MustCompile(`^#{2,4} `)
	tableRow = regexp.MustCompile(`^\| *(\d+[a-z]?) *\|`)
	listItem = regexp.MustCompile(`^(\d+)\. `)
	nameOf   = regexp.MustCompile(`^(?:\| *|\* \*\*|\*\*|# )([BDRSV]\d+a?)\b`)
)

// sectionsOf reads the sections of a page.
func sectionsOf(text string) map[string]*section {
	sections := map[string]*section{}
	add := func(number string) *section {
		sections[number] = &section{rows: map[string]bool{}, names: map[string]bool{}}
		return sections[number]
	}
	page := add("")
	in := []*section{page} // the sections that the line is in
	for l := range strings.Lines(text) {
		switch m := numbered.FindStringSubmatch(l); {
		case m != nil:
			in = []*section{page, add(m[1])}
			for outer, _ := cutLast(m[1]); outer != ""; outer, _ = cutLast(outer) {
				if s := sections[outer]; s != nil {
					in = append(in, s)
				}
			}
		case unnamed.MatchString(l):
			in = []*section{page}
		}
		for _, s := range in {
			for _, kind := range []*regexp.Regexp{tableRow, listItem} {
				if m := kind.FindStringSubmatch(l); m != nil {
					s.rows[m[1]] = true
				}
			}
			if m := nameOf.FindStringSubmatch(l); m != nil {
				s.names[m[1]] = true
			}
		}
	}
	return sections
}

// cutLast splits 6.8.2 into 6.8 and 2, and 6 into nothing and 6.
func cutLast(number string) (outer, last string) {
	i := strings.LastIndexByte(number, '.')
	return number[:max(i, 0)], number[i+1:]
}

// readCited reads the pages of docs/protocol and the names of the decisions.
func readCited(t *testing.T) cited {
	t.Helper()
	c := cited{pages: map[string]map[string]*section{}, decisions: map[string]bool{}}
	read := func(name string) string {
		return string(must.ReadFile(t, filepath.Join("../../docs/protocol", name+".md")))
	}
	for _, name := range pageNames {
		c.pages[name] = sectionsOf(read(name))
	}
	c.guarantees = sectionsOf(read("guarantees"))[""].rows
	files := must.Glob(t, "../../docs/adr/[0-9]*.md")
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		c.decisions[number] = true
	}
	require.Len(t, c.guarantees, 16)
	require.Greater(t, len(c.decisions), 10)
	require.Greater(t, len(c.pages["quorum-protocol"]), 80)
	return c
}

// resolve says why a citation leads nowhere; "" if it leads somewhere.
func (c cited) resolve(q citation) string {
	switch q.page {
	case "guarantee":
		if !c.guarantees[q.row] {
			return "there is no guarantee " + q.row
		}
		return ""
	case "adr":
		if !c.decisions[q.row] {
			return "there is no adr " + q.row
		}
		return ""
	}
	sections := c.pages[q.page]
	s := sections[q.section]
	if s == nil { // 15.5.3 is item 3 of the list in 15.5
		outer, item := cutLast(q.section)
		if s = sections[outer]; outer == "" || s == nil || !s.rows[item] {
			return fmt.Sprintf("%s has no section %s", q.page, q.section)
		}
	}
	if q.row != "" && !s.rows[q.row] {
		return fmt.Sprintf("%s has no row, step or item %s in section %s", q.page, q.row, q.section)
	}
	if q.name != "" && !s.names[q.name] {
		return strings.TrimSpace(fmt.Sprintf("%s has no %s in section %s", q.page, q.name, q.section))
	}
	return ""
}
