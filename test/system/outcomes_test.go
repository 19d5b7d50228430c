package system

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutcomesAreTold is of clients that ask what has become of requests which were not answered, and send again what
// was not executed, while everything goes wrong that may.
func TestOutcomesAreTold(t *testing.T) {
	told, repeated := 0, 0
	for seed := uint64(1); seed <= 25; seed++ {
		features := []Feature{Outcomes}
		if seed%3 == 0 {
			features = append(features, Reconfig)
		}
		w := newWorld(Options{Seed: seed, Steps: 300, Features: features})
		require.NoError(t, w.run(), "seed %d", seed)
		told, repeated = told+w.outcomes, repeated+w.repeats
	}
	require.Greater(t, told, 100, "outcomes")
	require.Greater(t, repeated, 200, "writes that were sent again")
}
