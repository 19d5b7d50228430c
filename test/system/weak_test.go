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
var unseen = []weakness.Weakness{}

// TestDefectsAreFound runs servers that have one defect each until a check notices.
func TestDefectsAreFound(t *testing.T) {
	for _, defect := range weakness.All() {
		if slices.Contains(unseen, defect) {
			continue
		}
		t.Run(defect.String(), func(t *testing.T) {
			for seed := *flagFirst; seed < *flagFirst+uint64(*flagSeeds); seed++ {
				w := newWorld(Options{Seed: seed, Steps: *flagSteps, Servers: *flagServers, Weakness: weakness.Of(defect)})
				if err := w.run(); err != nil {
					t.Logf("seed %d: %.300s", seed, fmt.Sprint(err))
					return
				}
			}
			require.Fail(t, "nothing was noticed")
		})
	}
}
