//go:build weak

package system

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/weakness"
)

// unseen are the defects that no seed has shown yet.
var unseen = []weakness.Weakness{weakness.DiffTooLate, weakness.GenerationUnchecked}

// TestDefectsAreFound runs servers that have one defect each until a check notices. It notices nothing of servers
// without the defect.
func TestDefectsAreFound(t *testing.T) {
	for _, defect := range weakness.All() {
		if slices.Contains(unseen, defect) {
			continue
		}
		t.Run(defect.String(), func(t *testing.T) {
			for seed := *flagFirst; seed < *flagFirst+uint64(*flagSeeds); seed++ {
				o := Options{Seed: seed, Steps: *flagSteps, Servers: *flagServers, Weakness: weakness.Of(defect)}
				if err := newWorld(o).run(); err != nil {
					t.Logf("seed %d: %.300s", seed, fmt.Sprint(err))
					o.Weakness = weakness.Set{}
					require.NoError(t, newWorld(o).run())
					return
				}
			}
			require.Fail(t, "nothing was noticed")
		})
	}
}
