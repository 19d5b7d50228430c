package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/seeds"
)

// What SIMULATION.md says of long runs is said of the code as it is: nothing that a run is evidence of has changed
// since the commit that its row names.
func TestLongRunsAreOfThisCode(t *testing.T) {
	git := func(arg ...string) (string, error) {
		out, err := exec.Command("git", arg...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		t.Skip("there is no history to compare with")
	}
	page := must.ReadFile(t, "../../docs/SIMULATION.md")
	rows := regexp.MustCompile("(?m)^\\| `(Test\\w+)` \\|.* \\| ([0-9a-f]{7,40}), \\d{4}-\\d\\d-\\d\\d \\|$").
		FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 9, "a row for each test")
	for _, row := range rows {
		test, commit := row[1], row[2]
		_, err := git("merge-base", "--is-ancestor", commit, "HEAD")
		if !assert.NoError(t, err, "%s: commit %s is not part of the history", test, commit) {
			continue
		}
		since, err := git(append([]string{"log", "--oneline", commit + "..HEAD", "--"}, seeds.Code(test)...)...)
		require.NoError(t, err, since)
		assert.Empty(t, since, "%s ran at %s, before these changes: run it again with make sim RECORD=yes", test,
			commit)
	}
}
