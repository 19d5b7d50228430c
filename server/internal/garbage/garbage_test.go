package garbage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercent(t *testing.T) {
	for tree, want := range map[int64]int{
		0: 100, 1 << 20: 100, Allowance: 100, 2 * Allowance: 50, 480 << 20: 10, 1 << 40: 4,
	} {
		require.Equal(t, want, percent(tree), "%d", tree)
	}
}

// While collections are frequent, a small heap may have more garbage, and never more than a large one.
func TestPercentWhileBusy(t *testing.T) {
	for live, want := range map[int64]int{0: 1000, 4 << 20: 1000, Allowance / 5: 500, Allowance: 100, 1 << 40: 100} {
		require.Equal(t, want, percentWhileBusy(PercentDefault, live), "%d", live)
	}
	require.Equal(t, 50, percentWhileBusy(50, 2*Allowance))
}
