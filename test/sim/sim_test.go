package sim

import (
	"flag"
	"fmt"
	"testing"
)

var (
	flagSeed  = flag.Uint64("sim.seed", 0, "run this seed only, with a trace of its end")
	flagSeeds = flag.Int("sim.seeds", 50, "number of seeds")
	flagFirst = flag.Uint64("sim.first", 1, "first seed")
	flagSteps = flag.Int("sim.steps", 10_000, "events before the ensemble is healed")
	flagTrace = flag.Int("sim.trace", 150, "lines of trace to print for -sim.seed")
)

// replay is the command that repeats a run.
func replay(seed uint64, steps int) string {
	return fmt.Sprintf("go test ./test/sim -run TestSim -sim.seed=%d -sim.steps=%d", seed, steps)
}

// TestSim runs many seeds, or the one that is asked for.
func TestSim(t *testing.T) {
	if *flagSeed != 0 {
		s := New(Options{Seed: *flagSeed, Steps: *flagSteps, Observers: -1}).Tracing()
		v := s.Run()
		for _, line := range s.Trace[max(0, len(s.Trace)-*flagTrace):] {
			t.Log(line)
		}
		t.Logf("%+v", s.Stats)
		if v != nil {
			t.Fatalf("seed %d: %v", *flagSeed, v)
		}
		return
	}
	var sum Stats
	for i := range *flagSeeds {
		seed := *flagFirst + uint64(i)
		s := New(Options{Seed: seed, Steps: *flagSteps, Observers: -1})
		if v := s.Run(); v != nil {
			t.Errorf("SEED=%d: %v\nreplay with: %s", seed, v, replay(seed, *flagSteps))
		}
		sum.add(s.Stats)
	}
	t.Logf("%+v", sum)
}

func (a *Stats) add(b Stats) {
	a.Steps += b.Steps
	a.Elections += b.Elections
	a.Epochs += b.Epochs
	a.Delivered += b.Delivered
	a.Acked += b.Acked
	a.Crashes += b.Crashes
	a.Cuts += b.Cuts
	a.Snaps += b.Snaps
	a.Truncs += b.Truncs
	a.Diffs += b.Diffs
	a.Replays += b.Replays
	a.HandOvers += b.HandOvers
	a.Wipes += b.Wipes
	a.Syncs += b.Syncs
	a.DiskErrors += b.DiskErrors
	a.HealedAfter = max(a.HealedAfter, b.HealedAfter)
}
