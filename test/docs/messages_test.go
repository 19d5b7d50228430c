package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// theirs are messages that the operating system words.
var theirs = map[string]bool{"address already in use": true}

// What TROUBLESHOOTING.md tells readers to look for, in the first column of its tables, is what the program writes.
func TestMessagesExist(t *testing.T) {
	source := readSource(t)
	text := must.ReadFile(t, "../../docs/TROUBLESHOOTING.md")
	quoted := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for i, row := range strings.Split(string(text), "\n") {
		cells := strings.Split(row, " | ")
		if !strings.HasPrefix(row, "| ") || len(cells) < 3 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			checked++
			if !theirs[m[1]] && !strings.Contains(source, m[1]) {
				t.Errorf("docs/TROUBLESHOOTING.md:%d: nothing in the program writes %q", i+1, m[1])
			}
		}
	}
	require.Greater(t, checked, 40, "the tables have many messages: are they still read?")
}

// readSource returns what the program is made of, without tests, with strings joined that lines break apart.
func readSource(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{
		"client", "cmd", "datatree", "internal/findings", "proto", "server", "snapshot", "wal", "zab",
	} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		})
		require.NoError(t, err)
	}
	return regexp.MustCompile(`" \+\s*"`).ReplaceAllString(b.String(), "")
}
