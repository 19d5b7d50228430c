package sim

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/seeds"
)

var (
	flagSeeds = seeds.NewFlags("sim", 50, 2*time.Second)
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

// TestSimDisksReconfig does it while disks are exchanged one at a time, and the ensemble is changed.
func TestSimDisksReconfig(t *testing.T) { swarm(t, Options{Reconfig: true, Restore: true}) }

// TestSimForged does it while a program that reaches the ports for learners says to be one server or another.
func TestSimForged(t *testing.T) { swarm(t, Options{Forged: true}) }

func swarm(t *testing.T, o Options) {
	if !o.Masters && !o.Lists {
		o.Observers = -1
	}
	run := func(seed uint64) *Sim {
		o := o
		o.Seed, o.Steps = seed, *flagSteps
		return New(o)
	}
	if seed := flagSeeds.One(); seed != 0 {
		s := run(seed).Tracing()
		v := s.Run()
		for _, line := range s.Trace[max(0, len(s.Trace)-*flagTrace):] {
			t.Log(line)
		}
		t.Logf("seed %d\n%v", seed, &s.Stats)
		if v != nil {
			t.Fatalf("seed %d: %v", seed, v)
		}
		return
	}
	began, failed, ran := time.Now(), 0, 0
	var sum Stats
	var mu sync.Mutex // guards failed, ran and sum
	first, n := flagSeeds.Run(t, func(seed uint64) {
		s := run(seed)
		v := s.Run()
		mu.Lock()
		defer mu.Unlock()
		if v != nil {
			t.Errorf("SEED=%d: %v\nreplay with: %s", seed, v, replay(t, seed, *flagSteps))
			failed++
		}
		sum.Add(&s.Stats)
		if ran++; ran%1000 == 0 {
			t.Logf("%d seeds, %d failed, %d steps, %d txns acknowledged, %v", ran, failed, sum.Steps, sum.Acked,
				time.Since(began).Round(time.Second))
		}
	})
	t.Logf("%d seeds from %d, %d steps each and convergence, %d failed, %v\n%v", n, first, *flagSteps, failed,
		time.Since(began).Round(time.Millisecond), &sum)
	flagSeeds.Record(t, seeds.Row{First: first, Seeds: n, Steps: *flagSteps, Failed: failed, Took: time.Since(began),
		Done: fmt.Sprintf("%d epochs, %d writes acknowledged, %d processes crashed, %d reconfigurations, "+
			"%d disks lost or exchanged", sum.Epochs, sum.Acked, sum.Crashes, sum.Reconfigured,
			sum.Wipes+sum.Exchanged)})
}
