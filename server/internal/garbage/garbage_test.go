package garbage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercent(t *testing.T) {
	for tree, want := range map[int64]int{
		0: 100, 1 << 20: 100, allowance: 100, 2 * allowance: 50, 480 << 20: 10, 1 << 40: 4,
	} {
		require.Equal(t, want, percent(tree), "%d", tree)
	}
}

// While collections are frequent, a small heap may have more garbage, and never more than a large one.
func TestPercentWhileBusy(t *testing.T) {
	for live, want := range map[int64]int{0: 1000, 4 << 20: 1000, allowance / 5: 500, allowance: 100, 1 << 40: 100} {
		require.Equal(t, want, percentWhileBusy(PercentDefault, live), "%d", live)
	}
	require.Equal(t, 50, percentWhileBusy(50, 2*allowance))
}

// A collection is worth it when more than Allowance has gone, at once or little by little, since the last one.
func TestReleases(t *testing.T) {
	const mib = 1 << 20
	var r releases
	for i, step := range []struct {
		bytes     int64
		collected bool
		much      bool
	}{
		{900 * mib, false, false}, {880 * mib, false, false}, {860 * mib, false, false}, {850 * mib, false, true},
		{830 * mib, false, false}, {800 * mib, false, true}, {770 * mib, false, false}, {760 * mib, true, false},
		{790 * mib, false, false}, {760 * mib, false, false}, {750 * mib, false, true}, {0, true, true},
		{0, true, false}, {0, false, false},
	} {
		require.Equal(t, step.much, r.much(step.bytes, step.collected), "step %d", i)
	}
}
