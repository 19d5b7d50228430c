package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClientsThatMoveAtOnce lets clients go on at other servers with many requests on their way, syncs among them,
// while logs are slow. The seeds have shown syncs that were never answered, with all requests behind them.
func TestClientsThatMoveAtOnce(t *testing.T) {
	for _, seed := range []uint64{108, 148, 246} {
		w := newWorld(Options{Seed: seed, Steps: 300, Servers: 3, Clients: 4, Faults: []Fault{}, Features: []Feature{}, Slow: "journal",
			Late: 300 * time.Millisecond, Busy: true, Restless: true})
		require.NoError(t, w.run(), "seed %d", seed)
	}
}
