package sim

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var (
	flagSeed  = flag.Uint64("sim.seed", 0, "run this seed only, with a trace of its end")
	flagSeeds = flag.Int("sim.seeds", 50, "number of seeds")
	flagFirst = flag.Uint64("sim.first", 1, "first seed")
	flagSteps = flag.Int("sim.steps", 10_000, "events before the ensemble is healed")
	flagTrace = flag.Int("sim.trace", 150, "lines of trace to print for -sim.seed")
)

// replay is the command that repeats a run.
func replay(t *testing.T, seed uint64, steps int) string {
	return fmt.Sprintf("go test -tags invariants ./test/sim -v -run '^%s$' -sim.seed=%d -sim.steps=%d",
		t.Name(), seed, steps)
}

// TestSim runs many seeds, or the one that is asked for.
func TestSim(t *testing.T) { swarm(t, Options{}) }

// TestSimReconfig does the same with ensembles that are changed all the time.
func TestSimReconfig(t *testing.T) { swarm(t, Options{Reconfig: true}) }

// TestSimLists does it with ensembles without reconfiguration, whose servers are restarted with other lists.
func TestSimLists(t *testing.T) { swarm(t, Options{Lists: true}) }

// TestSimListsNotice: the checks notice when lists change by two servers at once, and when a change begins too early.
// Without that, they would notice nothing in TestSimLists either.
func TestSimListsNotice(t *testing.T) {
	for name, o := range map[string]Options{"leap": {Leap: true}, "haste": {Haste: true}} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 200; seed++ {
				o.Seed, o.Steps, o.Lists = seed, 20_000, true
				s := New(o)
				if v := s.Run(); v != nil && v.Checker != "Convergence" {
					t.Logf("seed %d, step %d: %v", seed, s.steps, v)
					return
				}
			}
			t.Error("no run has noticed")
		})
	}
}

// TestSimObserverMasters does it with observers that learn from followers.
func TestSimObserverMasters(t *testing.T) { swarm(t, Options{Observers: 2, Masters: true}) }

// TestSimObserverMastersReconfig does that while the ensemble is changed.
func TestSimObserverMastersReconfig(t *testing.T) {
	swarm(t, Options{Observers: 2, Masters: true, Reconfig: true})
}

// TestSimDisks does it while disks are exchanged: for older ones, those of other servers, of other ensembles, and
// empty ones.
func TestSimDisks(t *testing.T) { swarm(t, Options{Exchange: true}) }

func swarm(t *testing.T, o Options) {
	if !o.Masters && !o.Lists {
		o.Observers = -1
	}
	run := func(seed uint64) *Sim {
		o.Seed, o.Steps = seed, *flagSteps
		return New(o)
	}
	if *flagSeed != 0 {
		s := run(*flagSeed).Tracing()
		v := s.Run()
		for _, line := range s.Trace[max(0, len(s.Trace)-*flagTrace):] {
			t.Log(line)
		}
		t.Logf("seed %d\n%v", *flagSeed, &s.Stats)
		if v != nil {
			t.Fatalf("seed %d: %v", *flagSeed, v)
		}
		return
	}
	began, failed := time.Now(), 0
	var sum Stats
	for i := range *flagSeeds {
		seed := *flagFirst + uint64(i)
		s := run(seed)
		if v := s.Run(); v != nil {
			t.Errorf("SEED=%d: %v\nreplay with: %s", seed, v, replay(t, seed, *flagSteps))
			failed++
		}
		sum.Add(&s.Stats)
		if n := i + 1; n%max(*flagSeeds/20, 50) == 0 && n < *flagSeeds {
			t.Logf("%d of %d seeds, %d failed, %d steps, %d txns acknowledged, %v", n, *flagSeeds, failed, sum.Steps,
				sum.Acked, time.Since(began).Round(time.Second))
		}
	}
	t.Logf("%d seeds from %d, %d steps each and convergence, %d failed, %v\n%v", *flagSeeds, *flagFirst, *flagSteps,
		failed, time.Since(began).Round(time.Millisecond), &sum)
}
