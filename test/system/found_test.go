package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
)

// TestClientsThatMoveAtOnce lets clients go on at other servers with many requests on their way, syncs among them,
// while logs are slow. The seeds have shown syncs that were never answered, with all requests behind them.
func TestClientsThatMoveAtOnce(t *testing.T) {
	for _, seed := range []uint64{108, 148, 246} {
		w := newWorld(Options{Seed: seed, Steps: 300, Servers: 3, Clients: 4, Faults: []Fault{}, Features: []Feature{},
			Slow: "journal", Late: 300 * time.Millisecond, Busy: true, Restless: true})
		require.NoError(t, w.run(), "seed %d", seed)
	}
}

// TestLeaderEndsBeforeItServes lets txns be applied so late that a leadership ends in the moment in which its leader
// would begin to serve. The seed has shown a server that ended by a panic then.
func TestLeaderEndsBeforeItServes(t *testing.T) {
	w := newWorld(Options{Seed: 204, Steps: 300, Servers: 3, Faults: []Fault{Partition, OneWay, Kill, Stall},
		Features: []Feature{}, Mean: 300 * time.Millisecond, Busy: true, Slow: "applier", Late: 3 * time.Second,
		Configure: func(c *config.Config) { c.SnapCount, c.SnapshotSizeFactor = 100_000, 0.001 }})
	require.NoError(t, w.run())
}

// TestUpgradeIsLost loses the proposal that makes a local session global with the leadership, after the session has
// moved to another server. That server may go on with the session until then.
func TestUpgradeIsLost(t *testing.T) {
	for _, seed := range []uint64{602519, 603775} {
		w := newWorld(Options{Seed: seed, Steps: 200, Observers: -1})
		require.NoError(t, w.run(), "seed %d", seed)
	}
}

// TestElectedWithoutWhatWasCommitted elects a server that has heard of a commit of a txn that its log does not have,
// because it lost its leader in the same turn of its host. The seed has shown a server that ended by a panic then.
func TestElectedWithoutWhatWasCommitted(t *testing.T) {
	w := newWorld(Options{Seed: 28, Steps: 300, Servers: 3, Clients: 8, Faults: []Fault{HandOver, Pause},
		Features: []Feature{}, Mean: time.Second, Slow: "host", Late: time.Second})
	require.NoError(t, w.run())
}

// TestLogIsReplaced installs a state of the leader at a server whose log is the last that holds committed txns, which
// no server has applied yet. The check of histories must have read that log.
func TestLogIsReplaced(t *testing.T) {
	w := newWorld(Options{Seed: 12, Steps: 300, Servers: 3, Faults: []Fault{Partition, Kill, Stall},
		Features: []Feature{}, Mean: 300 * time.Millisecond, Busy: true, Slow: "applier", Late: 3 * time.Second,
		Configure: func(c *config.Config) { c.SnapCount, c.ForceSnapshotSync = 100_000, true }})
	require.NoError(t, w.run())
}
