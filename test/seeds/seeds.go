// Package seeds is which seeds a simulated run takes, for the simulators of test/sim and test/system alike: fixed
// ones, those of testdata/seeds, each of which has broken a promise once, and fresh ones, which no run has had before.
// Fresh seeds follow from the commit, so that a run of the same commit has the same ones, and the next commit
// has others.
package seeds

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/must"
)

// Flags are the flags of one simulator's tests that say which seeds they run.
type Flags struct {
	seed, first *uint64
	seeds       *int
	fresh       *time.Duration
	record      *string
}

// NewFlags declares the flags PREFIX.seed, PREFIX.seeds, PREFIX.first, PREFIX.fresh and PREFIX.record.
func NewFlags(prefix string, seeds int, fresh time.Duration) *Flags {
	return &Flags{
		seed:  flag.Uint64(prefix+".seed", 0, "run this seed only, with a trace of its end"),
		seeds: flag.Int(prefix+".seeds", seeds, "number of seeds"),
		first: flag.Uint64(prefix+".first", 1, "first seed; 0 draws one from the time"),
		fresh: flag.Duration(prefix+".fresh", fresh,
			"how long seeds run that follow from the commit, after the fixed ones and those that have failed once"),
		record: flag.String(prefix+".record", "", "the page whose table gets a row of this run"),
	}
}

// One returns the seed that alone is asked for, with a trace, or 0.
func (f *Flags) One() uint64 { return *f.seed }

// Run calls run with the seeds that the flags ask for, in parallel. It returns the first of the fixed ones, and how
// many of all have run.
func (f *Flags) Run(t *testing.T, run func(seed uint64)) (first uint64, n int) {
	if first = *f.first; first == 0 {
		first = uint64(time.Now().UnixMilli()) * 1000
		t.Logf("the first seed is %d, by the time", first)
	}
	never := time.Time{}
	each(first, *f.seeds, never, run)
	n = *f.seeds
	if *f.fresh <= 0 {
		return first, n
	}
	for _, seed := range Failed(t) {
		run(seed)
		n++
	}
	fresh, source := Fresh()
	ran := each(fresh, 1<<30, time.Now().Add(*f.fresh), run)
	t.Logf("%d seeds from %d, by the %s", ran, fresh, source)
	return first, n + ran
}

// garbage is how much the heap grows between two collections while seeds run, as GOGC. A run makes much garbage and
// keeps little, so rare collections take a third off the time of a run.
const garbage = 800

// each runs n seeds from the first on, one on each processor at a time, and begins none after the end, if it is not
// zero. It returns how many have run. At least one runs.
func each(first uint64, n int, end time.Time, run func(seed uint64)) int {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	var next atomic.Int64
	var all sync.WaitGroup
	ran := 0
	var mu sync.Mutex // guards ran
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if i > 0 && !end.IsZero() && time.Now().After(end) {
					return
				}
				run(first + uint64(i))
				mu.Lock()
				ran++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return ran
}

// Fresh returns a first seed that follows from the commit that is checked out, or from the day where there is none,
// and which of the two it was.
func Fresh() (first uint64, source string) {
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	source = "commit"
	if err != nil {
		commit, source = []byte(time.Now().UTC().Format(time.DateOnly)), "date"
	}
	h := fnv.New64a()
	_, _ = h.Write(commit)
	return 1_000_000_000_000 + h.Sum64()%1_000_000_000*1_000_000, source
}

// Failed returns the seeds of the running test in testdata/seeds. A line is the name of a test and a seed; a # begins
// a comment.
func Failed(t *testing.T) (all []uint64) {
	text := must.ReadFile(t, "testdata/seeds")
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var name string
		var seed uint64
		if _, err := fmt.Sscan(line, &name, &seed); err != nil {
			t.Fatalf("testdata/seeds: %q: %v", line, err)
		}
		if name == t.Name() {
			all = append(all, seed)
		}
	}
	return all
}
