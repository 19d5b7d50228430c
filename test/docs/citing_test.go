package docs

import (
	"regexp"
	"strings"
)

// pageNames are the pages that are cited by sections.
var pageNames = []string{"client-protocol", "quorum-protocol", "server-semantics", "storage", "operations"}

// citation is one place that a text refers to. Of row and name at most one is set.
type citation struct {
	page    string // one of pageNames, guarantee or adr
	section string // "" if only the name is given, as in client-protocol V45
	row     string // of a table, or item of a list, as the 2 of rule 2; the number of a guarantee or an adr
	name    string // as B7
	at      int    // where it stands in the text
}

// misspelt is a citation in a form that the other comments do not have.
type misspelt struct {
	why string
	at  int
}

const anyPage = `\b(?:client-protocol|quorum-protocol|server-semantics|storage|operations)`

var (
	pageName      = regexp.MustCompile(anyPage + `\b`)
	sectionNumber = regexp.MustCompile(`^\s+(\d+(?:\.\d+)*[a-z]?)\b`)
	ruleName      = regexp.MustCompile(`^\s+([BDRSV]\d+a?)\b`)
	firstRow      = regexp.MustCompile(
		`^\s+(?:steps?|rules?|rows?|items?|vectors?|scenarios?|hazards?)\s+(\d+[a-z]?)\b`)
	nextRow = regexp.MustCompile(`^(?:,|\s+and|\s+to)\s+(\d+[a-z]?)(?:[^.\w]|\.\D|\.?$)`)
	joint   = regexp.MustCompile(`^(?:,|,?\s+and|\s+to)`)

	guarantee = regexp.MustCompile(`(?i)\bguarantees?\s+\d`)
	decision  = regexp.MustCompile(`(?i)\badr[\s/]+(\d+)-?`)
	fullForm  = regexp.MustCompile(`^(?:adr\s+\d{4}|adr/\d{4}-)$`) // of a decision; the second is a path

	wrongForms = []struct {
		form *regexp.Regexp
		why  string
	}{
		{regexp.MustCompile(`(?i)` + anyPage + `(?:\.md)?,?\s+sections?\s+\d`), `the number follows the page`},
		{regexp.MustCompile(`(?i)` + anyPage + `\.md\s+\d`), `pages are cited without .md: "storage 6.4"`},
		{regexp.MustCompile(`\b(?:Client|Quorum)-protocol\s+\d`), "names of pages are in lower case"},
		{regexp.MustCompile(`\b(?:Server-semantics|Storage|Operations)\s+\d`), "names of pages are in lower case"},
		{regexp.MustCompile(`(?i)\bdesign(?:\.md)?,?\s+(?:sections?\b|guarantees?\b|\d)`),
			`it is cited as "guarantee 5"`},
		{regexp.MustCompile(`\bSource:\s+(?:\d|[BDRS]\d)`), "the name of the page is missing"},
	}
)

// citations finds what the text cites. The marks of comments must be blank.
func citations(text string) (found []citation, wrong []misspelt) {
	for _, m := range pageName.FindAllStringIndex(text, -1) {
		for at := m[1]; at >= 0; {
			var q []citation
			q, at = parsePlace(text, at)
			for _, c := range q {
				c.page, c.at = text[m[0]:m[1]], m[0]
				found = append(found, c)
			}
		}
	}
	for _, m := range guarantee.FindAllStringIndex(text, -1) {
		rows, _ := parseRows(text, m[1]-2, sectionNumber)
		for _, row := range rows {
			found = append(found, citation{page: "guarantee", row: row, at: m[0]})
		}
	}
	for _, m := range decision.FindAllStringSubmatchIndex(text, -1) {
		if !fullForm.MatchString(text[m[0]:m[1]]) {
			wrong = append(wrong, misspelt{`decisions are cited as "adr 0009"`, m[0]})
			continue
		}
		found = append(found, citation{page: "adr", row: text[m[2]:m[3]], at: m[0]})
	}
	for _, f := range wrongForms {
		for _, m := range f.form.FindAllStringIndex(text, -1) {
			wrong = append(wrong, misspelt{f.why, m[0]})
		}
	}
	return found, wrong
}

// parsePlace reads one of the places that follow the name of a page: a section, with its rows or a name in it, or a
// name alone. It returns where the next place begins, -1 if there is none.
func parsePlace(text string, at int) (found []citation, next int) {
	if m := sectionNumber.FindStringSubmatch(text[at:]); m != nil {
		rows, end := parseRows(text, at+len(m[0]), firstRow)
		for _, row := range rows {
			found = append(found, citation{section: m[1], row: row})
		}
		if n := ruleName.FindStringSubmatch(text[end:]); n != nil && rows == nil {
			found = append(found, citation{section: m[1], name: n[1]})
			end += len(n[0])
		}
		if found == nil {
			found = append(found, citation{section: m[1]})
		}
		at = end
	} else if m := ruleName.FindStringSubmatch(text[at:]); m != nil {
		found = append(found, citation{name: m[1]})
		at += len(m[0])
	} else {
		return nil, -1
	}
	if m := joint.FindString(text[at:]); m != "" {
		return found, at + len(m)
	}
	return found, -1
}

// parseRows reads rows that are named one after the other, as in "steps 2 to 6". It returns where they end.
func parseRows(text string, at int, first *regexp.Regexp) (rows []string, end int) {
	for m := first.FindStringSubmatch(text[at:]); m != nil; m = nextRow.FindStringSubmatch(text[at:]) {
		rows = append(rows, m[1])
		at += strings.LastIndex(m[0], m[1]) + len(m[1])
	}
	return rows, at
}
