package system

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpoiltDirectories lets runs go on until each kind of fault of the features has happened.
func TestSpoiltDirectories(t *testing.T) {
	for feature, kinds := range map[Feature][]string{
		Damage: {"damagedfile: snapshot ", "damagedfile: log ", "damagedfile: meta.db lost",
			"damagedfile: meta.db as it was", "damagedfile: meta.db and epochs", " flipped", " zeroed", " cut ",
			" renamed", " removed", " exchanged", " as it was earlier", " of another server", "damagedfile: refused"},
		Exchange: {"copieddir: its own", "copieddir: that of another server but", "copieddir: that of another server"},
		Clocks:   {"clockjump: back", "clockjump: forth", "clockjump: suspended"},
	} {
		t.Run(string(feature), func(t *testing.T) {
			missing := slices.Clone(kinds)
			for seed := uint64(1); len(missing) > 0; seed++ {
				require.LessOrEqual(t, seed, uint64(1000), "no run has had %v", missing)
				w := newWorld(Options{Seed: seed, Steps: 300, Servers: 3, Features: []Feature{feature}})
				require.NoError(t, w.run(), "seed %d", seed)
				for what := range maps.Keys(w.faults.done) {
					missing = slices.DeleteFunc(missing, func(k string) bool { return strings.Contains(what, k) })
				}
			}
		})
	}
}

// TestFeaturesAreDrawn shows that runs without options have each feature.
func TestFeaturesAreDrawn(t *testing.T) {
	seen := map[Feature]int{}
	for seed := range uint64(1000) {
		o := Options{Seed: seed}
		drawFeatures(&o)
		for _, f := range o.Features {
			seen[f]++
		}
	}
	for _, f := range allFeatures {
		require.InDelta(t, often[f]*10, seen[f], 60, f)
	}
}
