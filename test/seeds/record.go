package seeds

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Row is what a run has done, for the table of docs/SIMULATION.md.
type Row struct {
	First         uint64
	Seeds, Steps  int
	Failed        int
	Took          time.Duration
	Done          string
	commit, today string
}

// Code returns what a long run of a test is evidence of, as git's pathspecs: its row of the table is out of date when
// one of them has changed since. Simulations of whole servers are those of TestSystem; the others simulate cores, and
// take nothing of the server. Pages, scripts, the tests of packages other than the simulators, and the file system of
// the operating system, which no simulator uses, are left out, and so are the runs that look for known defects. So is
// the operator of lists in tests without lists.
func Code(test string) (all []string) {
	folders := []string{"zab", "test/sim"}
	if test == "TestSystem" {
		folders = []string{"zab", "wal", "snapshot", "server/peers", "server/internal/durable", "server/internal/host",
			"test/system"}
	}
	for _, folder := range folders {
		all = append(all, ":(top)"+folder)
	}
	for _, not := range []string{"*.md", "*/testdata/*", "zab/*_test.go", "wal/*_test.go", "snapshot/*_test.go",
		"server/*_test.go", "test/system/defects_test.go", "wal/vfs/os*.go", "wal/vfs/sync_*.go", "wal/vfs/like.go"} {
		all = append(all, ":(top,exclude)"+not)
	}
	if test != "TestSimLists" {
		all = append(all, ":(top,exclude)test/sim/lists*.go")
	}
	return all
}

// Record writes the row of the running test into the table of a page, if the flags ask for it.
func (f *Flags) Record(t *testing.T, r Row) {
	if *f.record == "" {
		return
	}
	if r.Failed > 0 {
		t.Errorf("%d seeds have failed: nothing is recorded", r.Failed)
		return
	}
	if changed := git(t, append([]string{"status", "--porcelain", "--"}, Code(t.Name())...)...); changed != "" {
		t.Fatalf("a run of code that is not committed cannot be recorded:\n%s", changed)
	}
	r.commit, r.today = git(t, "rev-parse", "--short=10", "HEAD"), time.Now().UTC().Format(time.DateOnly)
	page := must.ReadFile(t, *f.record)
	row := regexp.MustCompile("(?m)^\\| `" + t.Name() + "` \\|.*\n")
	if !row.Match(page) {
		t.Fatalf("%s has no row for %s", *f.record, t.Name())
	}
	line := fmt.Sprintf("| `%s` | %s from %d | %s | %s | %.0f min | %s, %s |\n", t.Name(), thousands(r.Seeds), r.First,
		thousands(r.Steps), r.Done, r.Took.Minutes(), r.commit, r.today)
	require.NoError(t, os.WriteFile(*f.record, row.ReplaceAllLiteral(page, []byte(line)), 0o644))
}

func git(t *testing.T, arg ...string) string {
	out, err := exec.Command("git", arg...).Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(arg, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// thousands writes 100000 as 100,000.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
