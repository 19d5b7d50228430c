package doctor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/test/must"
)

// row is a line of a table of docs/TROUBLESHOOTING.md that has the column doctor.
type row struct {
	at     int    // line of the page
	see    string // first column: what an operator sees
	do     string // third column
	doctor string // last column: the name of a finding in backquotes, or a word for why doctor cannot know
}

// finding is the name of the finding; empty if doctor cannot know.
func (r *row) finding() string {
	name, found := strings.CutPrefix(r.doctor, "`")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "`")
}

const page = "../../docs/TROUBLESHOOTING.md"

// readRows reads the page.
func readRows(t *testing.T) (rows []row) {
	t.Helper()
	text := must.ReadFile(t, page)
	wanted := false // the table has the column
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		switch {
		case !strings.HasPrefix(line, "| "):
			wanted = false
		case cells[len(cells)-1] == "`doctor`":
			wanted = true
		case wanted && cells[0] != "---":
			require.Len(t, cells, 4, "line %d of the page", i+1)
			rows = append(rows, row{i + 1, cells[0], cells[2], cells[3]})
		}
	}
	require.Greater(t, len(rows), 60, "the tables are still read")
	return rows
}

// names wants doctor to have named a failure as the row of the page says that has this message, and with a remedy that
// has a word of what the row says to do.
func (v visit) names(t *testing.T, message string) doctor.Finding {
	t.Helper()
	for _, r := range readRows(t) {
		if !strings.Contains(r.see, message) {
			continue
		}
		require.NotEmpty(t, r.finding(), "line %d of the page: doctor cannot know", r.at)
		some := doctor.Findings{}
		for _, f := range v.Findings {
			if f.Check == r.finding() {
				some = append(some, f)
			}
		}
		require.NotEmpty(t, some, "line %d of the page: no finding %s in %+v", r.at, r.finding(), v.Findings)
		i := slices.IndexFunc(some, func(f doctor.Finding) bool { return shareAWord(f.Remedy, r.do) })
		require.GreaterOrEqual(t, i, 0, "line %d of the page says %q, doctor %+v", r.at, r.do, some)
		return some[i]
	}
	t.Fatalf("the page has no row with %q", message)
	return doctor.Finding{}
}

// common are words that any two sentences about servers may share.
var common = []string{"server", "servers", "warren", "this", "that", "with", "from", "them", "they", "their", "other",
	"others", "look", "than", "then", "once", "data", "disk"}

var word = regexp.MustCompile(`[A-Za-z]{4,}`)

// shareAWord reports whether two texts have a word in common that is not common.
func shareAWord(a, b string) bool {
	words := word.FindAllString(strings.ToLower(b), -1)
	return slices.ContainsFunc(word.FindAllString(strings.ToLower(a), -1), func(w string) bool {
		return !slices.Contains(common, w) && slices.Contains(words, w)
	})
}

// made finds the messages of rows in the tests: the argument of names, and the field message of tables.
var made = regexp.MustCompile(`(?:names\((?:h\.)?t, |message: +)"([^"]+)"`)

// TestEveryFailureIsNamed wants every row of the page to have a test that makes the failure, or a word of the list at
// the beginning of the page that says why doctor cannot know.
func TestEveryFailureIsNamed(t *testing.T) {
	files := must.Glob(t, "*_test.go")
	var messages []string
	for _, name := range files {
		text := must.ReadFile(t, name)
		for _, m := range made.FindAllStringSubmatch(string(text), -1) {
			messages = append(messages, m[1])
		}
	}
	text := must.ReadFile(t, page)
	for _, r := range readRows(t) {
		if r.finding() == "" {
			require.Contains(t, string(text), "\n- *"+r.doctor+"*: ",
				"line %d of the page: why can doctor not know?", r.at)
			continue
		}
		require.True(t, slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(r.see, m) }),
			"line %d of the page: no test makes the failure and wants doctor to name it: %s", r.at, r.see)
	}
	require.False(t, shareAWord("look at the disk of this server", "the disk of the other server"))
	require.True(t, shareAWord("raise maxClientCnxns", "look at `cons`, then raise `maxClientCnxns`"))
}
