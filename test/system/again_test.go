package system

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestXidsComeAgain runs clients that count their requests from 1 again on some connections. Nothing may be taken for
// the reply to another request with the same xid.
func TestXidsComeAgain(t *testing.T) {
	judged, twice := 0, 0
	for seed := uint64(1); seed <= 4; seed++ {
		w := newWorld(Options{Seed: seed, Steps: 300, Servers: 3, Clients: 3, Faults: []Fault{ClientCut},
			Features: []Feature{}, Restless: true, Again: true})
		require.NoError(t, w.run(), "seed %d", seed)
		r := w.replay()
		require.NoError(t, r.run(), "seed %d", seed)
		if r.ambiguous {
			continue
		}
		judged++
		for _, all := range r.requests {
			if len(all) > 1 {
				twice++
			}
		}
	}
	require.NotZero(t, judged)
	require.Greater(t, twice, 10)
}
