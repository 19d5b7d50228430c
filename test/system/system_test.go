package system

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/seeds"
)

var (
	flagSeeds   = seeds.NewFlags("system", 50, 5*time.Second)
	flagSteps   = flag.Int("system.steps", 1000, "bouts of requests and faults before the faults end")
	flagServers = flag.Int("system.servers", 0, "number of servers; 0 draws it")
	flagWith    = flag.String("system.with", "",
		"features that each seed has, with commas between them, or none; empty draws them")
	flagTrace = flag.Int("system.trace", 150, "lines of trace to print for -system.seed")
)

// TestSystem runs many seeds, or the one that is asked for.
func TestSystem(t *testing.T) { swarm(t, Options{Observers: -1}) }

func swarm(t *testing.T, o Options) {
	o.Steps, o.Servers = *flagSteps, *flagServers
	if *flagWith != "" {
		o.Features = parseFeatures(*flagWith)
	}
	if o.Seed = flagSeeds.One(); o.Seed != 0 {
		w := newWorld(o)
		w.s.tracing = true
		err := w.run()
		for _, line := range w.s.trace[max(0, len(w.s.trace)-*flagTrace):] {
			t.Log(line)
		}
		require.NoError(t, err)
		return
	}
	began, failed := time.Now(), 0
	var sum figures
	var mu sync.Mutex                                // guards failed and sum
	first, n := flagSeeds.Run(t, func(seed uint64) { // worlds share nothing
		o := o
		o.Seed = seed
		w := newWorld(o)
		err := w.run()
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed++
			t.Errorf("SEED=%d: %v\nreplay with: go test -tags invariants ./test/system -v -run '^%s$' "+
				"-system.seed=%d -system.steps=%d", o.Seed, err, t.Name(), o.Seed, o.Steps)
		}
		sum.add(w)
	})
	t.Logf("%d seeds from %d, %d failed, %v\n%v", n, first, failed, time.Since(began).Round(time.Millisecond), &sum)
	flagSeeds.Record(t, seeds.Row{First: first, Seeds: n, Steps: o.Steps, Failed: failed, Took: time.Since(began),
		Done: fmt.Sprintf("%d replies checked, %d txns, %d sessions, %d reconfigurations, %d faults, %v simulated",
			sum.replies, sum.txns, sum.sessions, sum.reconfigs, sum.allFaults(), sum.simulated.Round(time.Hour))})
}

// figures sum up runs.
type figures struct {
	events, steps, replies, txns, sessions, connections int
	simulated                                           time.Duration
	faults                                              map[Fault]int
	done                                                map[string]int
	reconfigs, locals, readOnly                         int
}

func (f *figures) add(w *world) {
	f.events += w.s.events
	f.steps += w.steps
	f.replies += w.replies
	f.txns += len(w.history)
	f.sessions += len(w.sessions)
	f.connections += len(w.connections)
	f.simulated += w.s.now
	f.reconfigs += w.reconfigs
	r := w.replay()
	_ = r.begins()
	for _, s := range w.sessions {
		if r.isLocal(s) {
			f.locals++
		}
	}
	for _, c := range w.connections {
		if c.readOnly {
			f.readOnly++
		}
	}
	if f.faults == nil {
		f.faults, f.done = map[Fault]int{}, map[string]int{}
	}
	for what, n := range w.faults.done {
		f.done[what] += n
	}
	for k, n := range w.faults.count {
		f.faults[k] += n
	}
}

func (f *figures) allFaults() (n int) {
	for _, of := range f.faults {
		n += of
	}
	return n
}

func (f *figures) String() string {
	return fmt.Sprintf("%d events, %d steps, %d replies, %d txns, %d sessions, %d connections, %v simulated, %d "+
		"reconfigurations, %d local sessions, %d read-only connections, faults %v, done %v", f.events, f.steps,
		f.replies, f.txns, f.sessions, f.connections, f.simulated.Round(time.Second), f.reconfigs, f.locals,
		f.readOnly, f.faults, f.done)
}

// TestSameSeedSameTrace runs seeds twice.
func TestSameSeedSameTrace(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		var traces [2][]string
		for i := range traces {
			w := newWorld(Options{Seed: seed, Steps: 300, Servers: *flagServers, Observers: -1})
			w.s.tracing = true
			_ = w.run()
			traces[i] = w.s.trace
		}
		for i, line := range traces[0] {
			require.Less(t, i, len(traces[1]))
			require.Equal(t, line, traces[1][i], "seed %d, line %d, behind\n%v", seed, i,
				strings.Join(traces[0][max(0, i-20):i], "\n"))
		}
		require.Len(t, traces[1], len(traces[0]))
	}
}

// TestEachFault lets one fault at a time happen, and none.
func TestEachFault(t *testing.T) {
	for _, kinds := range append([][]Fault{{}}, each(allFaults)...) {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			for seed := range uint64(6) {
				w := newWorld(Options{Seed: seed + 1, Steps: 300, Servers: []int{1, 3, 5}[seed%3], Faults: kinds})
				require.NoError(t, w.run(), "seed %d", seed+1)
				require.NotZero(t, w.replies)
			}
		})
	}
}

func each(kinds []Fault) (all [][]Fault) {
	for _, k := range kinds {
		all = append(all, []Fault{k})
	}
	return all
}
