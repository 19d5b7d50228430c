package damage

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	flagAll     = flag.Bool("damage.all", false, "do all that is in the table, and not only a selection")
	flagRewrite = flag.Bool("damage.rewrite", false, "write the outcomes into the table")
	flagLog     = flag.Bool("damage.log", false, "print the logs of the servers")
	flagOnly    = flag.String("damage.only", "", "do what a regular expression matches")
)

const table = "testdata/outcomes.txt"

var numbers = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9a-f]*[0-9][0-9a-f]*\b`)

// selected is what each run of the tests does: each kind, and what was found once.
var selected = []string{
	"newest snapshot: byte in the middle flipped",
	"newest snapshot: a znode less, digest as before",
	"first snapshot: copied to a later txn than the last",
	"newest snapshot: overwritten by the first snapshot",
	"last log: byte in the middle flipped",
	"last log: cut to a half",
	"meta.db: zeroed",
	"currentEpoch: removed",
	"the directory: as it was earlier",
	"meta.db and second last log: removed",
	"meta.db and second last log: removed, newest snapshot cut",
	"last log: renamed to a later txn",
	"last log: renamed to a txn after its end",
}

// either is between the outcomes of a damage that may hit a part of the file that is in use, or a free one.
const either = " | "

// TestOutcomes damages one server of three in each way of the list. What becomes of that server is in a table. No
// outcome may lose what was acknowledged.
func TestOutcomes(t *testing.T) {
	want := readTable(t)
	list := all()
	names := map[string]bool{}
	for _, d := range list {
		require.False(t, names[d.name], "%s is in the list twice", d.name)
		names[d.name] = true
	}
	require.GreaterOrEqual(t, len(list), 200)
	only := regexp.MustCompile(*flagOnly)
	b := newBench(t)
	got := map[string]string{}
	for _, d := range list {
		if !*flagAll && !slices.Contains(selected, d.name) && *flagOnly == "" || !only.MatchString(d.name) {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			got[d.name] = b.run(t, &d)
			if !*flagRewrite {
				require.Contains(t, strings.Split(want[d.name], either), got[d.name])
			}
		})
	}
	if *flagRewrite {
		writeTable(t, list, want, got)
		return
	}
	for name := range want {
		require.True(t, names[name], "the table has %s, and the list has not", name)
	}
}

func readTable(t *testing.T) map[string]string {
	want := map[string]string{}
	f, err := os.Open(table)
	if os.IsNotExist(err) && *flagRewrite {
		return want
	}
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, outcome, ok := strings.Cut(lines.Text(), "\t"); ok {
			want[name] = outcome
		}
	}
	require.NoError(t, lines.Err())
	return want
}

func writeTable(t *testing.T, list []damage, want, got map[string]string) {
	var b strings.Builder
	for _, d := range list {
		outcome := want[d.name]
		if now, ok := got[d.name]; ok && !slices.Contains(strings.Split(outcome, either), now) {
			outcome = now
		}
		fmt.Fprintf(&b, "%s\t%s\n", d.name, outcome)
	}
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(table, []byte(b.String()), 0o644))
}
