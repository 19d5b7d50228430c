package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$") // code, in which brackets are no links
)

// anchor is the name by which a heading is linked to, as GitHub forms it.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Links between the pages lead to files and headings that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	checked := 0
	for _, p := range readPages(t) {
		file := filepath.Join("..", "..", p.name)
		text := must.ReadFile(t, file)
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue // the network is not asked
			}
			checked++
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), target)
			}
			linked, err := os.ReadFile(to)
			if info, statErr := os.Stat(to); statErr == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: link to %s: %v", p.name, m[1], err)
				continue
			}
			found := fragment == ""
			for _, h := range heading.FindAllStringSubmatch(string(linked), -1) {
				found = found || anchor(h[1]) == fragment
			}
			if !found {
				t.Errorf("%s: link to %s: there is no such heading", p.name, m[1])
			}
		}
	}
	require.Greater(t, checked, 30)
}

// The README links to each page once: a second link says nothing new.
func TestReadmeLinksOnce(t *testing.T) {
	text := must.ReadFile(t, "../../README.md")
	seen := map[string]bool{}
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		require.False(t, seen[m[1]], m[1])
		seen[m[1]] = true
	}
	require.Greater(t, len(seen), 20)
}
