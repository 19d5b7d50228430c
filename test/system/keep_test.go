package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHandOverKeepsConnections hands the leadership over again and again, whenever all servers serve, without any
// fault. No client loses its connection, except that a connection whose handshake is not over yet may end.
func TestHandOverKeepsConnections(t *testing.T) {
	handed := 0
	for seed := uint64(1); seed <= 25; seed++ {
		w := newWorld(Options{Seed: seed, Steps: 300, Servers: 3 + 2*int(seed%2), Clients: 4, Faults: []Fault{},
			Features: []Feature{}, Slow: "nothing"})
		var handOver func()
		handOver = func() {
			if leader := w.leader(); leader != nil && w.allServe() && !w.calm {
				leader.handOver(w.nodes[w.s.rng.IntN(len(w.nodes))])
				handed++
			}
			w.s.plan(w.s.between(0, 600*time.Millisecond), nil, "hand over", handOver)
		}
		handOver()
		require.NoError(t, w.run(), "seed %d", seed)
		require.Zero(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	require.Greater(t, handed, 200)
}

// TestEpochsWithoutZxidsCostNoConnection lets epochs end after few txns, without any fault. Each has a successor, and
// no connection ends.
func TestEpochsWithoutZxidsCostNoConnection(t *testing.T) {
	epochs := 0
	for seed := uint64(1); seed <= 8; seed++ {
		w := newWorld(Options{Seed: seed, Steps: 2000, Servers: 3 + 2*int(seed%2), Clients: 6, Faults: []Fault{},
			Features: []Feature{}, Slow: "nothing"})
		w.epochTxns = 1500
		require.NoError(t, w.run(), "seed %d", seed)
		require.Zero(t, w.cut, "seed %d: connections that servers ended", seed)
		epochs += len(w.leaders()) - 1
	}
	require.GreaterOrEqual(t, epochs, 8)
}

// TestKilledLeadersCostNoOtherConnection kills the leader again and again, whenever all servers serve, without any
// other fault. No client of another server loses its connection, and nothing that it has asked for is lost.
func TestKilledLeadersCostNoOtherConnection(t *testing.T) {
	killed := 0
	for seed := uint64(1); seed <= 25; seed++ {
		w := newWorld(Options{Seed: seed, Steps: 300, Servers: 3 + 2*int(seed%2), Clients: 6, Faults: []Fault{},
			Features: []Feature{}, Slow: "nothing"})
		var kill func()
		kill = func() {
			if leader := w.leader(); leader != nil && w.allServe() && !w.calm {
				leader.kill(100, true)
				w.faults.restart(leader, 300*time.Millisecond)
				killed++
			}
			w.s.plan(w.s.between(0, 600*time.Millisecond), nil, "kill", kill)
		}
		kill()
		require.NoError(t, w.run(), "seed %d", seed)
		require.Zero(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	require.Greater(t, killed, 100)
}
