package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every fault at a chosen moment is really drawn, and has the effect that it is for: a run of the simulators says
// nothing of a fault that never happens.
func TestFaultsAreDrawn(t *testing.T) {
	drawn := func(o Options) *Stats {
		var sum Stats
		for seed := uint64(1); seed <= 150; seed++ {
			o.Seed, o.Steps = seed, 10_000
			s := New(o)
			require.Nil(t, s.Run(), "seed %d", seed)
			sum.Add(&s.Stats)
		}
		return &sum
	}
	sum := drawn(Options{Observers: -1})
	require.Positive(t, sum.Torn, "crashes in the write of a promise")
	require.Positive(t, sum.LostAccepted, "a promise of an epoch is lost")
	require.Positive(t, sum.LostCurrent, "an adopted epoch is lost")
	require.Positive(t, sum.LostLineages, "a lineage is lost")
	require.Positive(t, sum.WipesElected, "disks lost right after an election")
	require.Positive(t, sum.WipesInTurn, "disks lost one right after the other")
	require.Positive(t, sum.FirstCrashes, "crashes in the first elections")
	require.Positive(t, sum.FirstSlow, "slow disks in the first elections")
	require.Positive(t, sum.Identities, "more than one identity is drawn")

	sum = drawn(Options{Observers: -1, Reconfig: true})
	require.Positive(t, sum.Left, "disks lost by servers that had left")
	require.Positive(t, sum.ReturnedObserving, "such servers come back as observers")
	require.Positive(t, sum.Returned, "and as voters")
	require.Positive(t, sum.Hidden, "members are removed and added again while a partition hides them")

	sum = drawn(Options{Observers: -1, Reconfig: true, Restore: true})
	require.Positive(t, sum.Reconfigured)
	require.Positive(t, sum.MetaLost, "copies without meta.db")
	for kind, n := range sum.Exchanges {
		if kind != exchangeForeign && kind != exchangeLost {
			require.Positive(t, n, "disks replaced %s", exchangeNames[kind])
		}
	}
}
