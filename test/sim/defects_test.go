package sim

import (
	"testing"
	"time"

	"github.com/seed94657493/warren/test/defects"
	"github.com/seed94657493/warren/zab"
)

// TestSimFindsDefects brings back one known defect after the other and expects the random runs to notice within a
// bounded number of seeds. A defect that stays unseen means that the simulator has a blind spot. Not here are the six
// that need a peer which behaves as none in the simulation does, or a coincidence too rare for a test (TruncBlindly,
// RepeatedZxid, TruncUncommitted, TruncAcrossEpochs, OldLinks, PromiseUnconfirmed): the scripts in
// zab/testdata/defects see those. SyncBeforeOwnLog and GapsTaken are for test/system: here no client waits for the
// leader's own log, and no log on disk begins one txn too late.
func TestSimFindsDefects(t *testing.T) {
	if !defects.Built {
		t.Skip("it takes the overlay of test/defects")
	}
	for _, d := range []defects.Defect{
		defects.AckBeforeHistory,
		defects.EpochBeforeHistory,
		defects.TrafficBeforeUpToDate,
		defects.SnapshotInMemory,
		defects.AnyAckCounts,
		defects.VoteBeforeDrain,
		defects.TruncKeepsMemory,
		defects.WindowHole,
		defects.DeliverBeforeDurable,
		defects.NewLeaderBeforeSnap,
		defects.EpochBeforeDurable,
		defects.OwnAckBeforeDurable,
		defects.AckBeforeDurable,
		defects.EpochPromisedTwice,
		defects.BlankCounts,
		defects.BlankForgotten,
		defects.CounterWraps,
		defects.NewConfigAlone,
		defects.InformBeforeCommit,
		defects.LeaderYields,
		defects.HistoriesJoined,
		defects.ObserversCount,
	} {
		t.Run(d.String(), func(t *testing.T) {
			began := time.Now()
			for seed := uint64(1); seed <= 500; seed++ {
				s := New(Options{Seed: seed, Steps: 10_000, Observers: -1, Reconfig: d == defects.NewConfigAlone,
					Exchange:  d == defects.LeaderYields || d == defects.HistoriesJoined,
					Configure: func(cfg zab.Config) zab.Config { return with(cfg, defects.Of(d)) }})
				if v := s.Run(); v != nil {
					t.Logf("| zab.%s | test/sim | %s | %d | %.1f s |", d, v.Checker, seed,
						time.Since(began).Seconds())
					t.Logf("step %d: %v", s.steps, v)
					return
				}
			}
			t.Error("no run has noticed")
		})
	}
}

// with returns the configuration with some defects. The overlay gives it a body.
func with(c zab.Config, _ defects.Set) zab.Config {
	return c
}
