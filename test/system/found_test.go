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

// TestReadOnlyServerShowsTheConfiguration cuts the log of a server that then has no leader: a read-only server must
// show the configuration, though no leader has synchronized it after it has loaded its state again.
func TestReadOnlyServerShowsTheConfiguration(t *testing.T) {
	w := newWorld(Options{Seed: 605656, Steps: 200, Observers: -1})
	require.NoError(t, w.run())
}

// TestReadOnlyServerShowsALaterConfiguration starts a server whose state is older than the configuration that it
// knows, and that then has no leader. It must show that configuration: none is in the history up to its state.
func TestReadOnlyServerShowsALaterConfiguration(t *testing.T) {
	w := newWorld(Options{Seed: 701868, Steps: 500, Observers: -1})
	require.NoError(t, w.run())
}

// TestRequestBeforeTheEndOfItsSession ends a leadership between the moment in which a session has expired and the
// proposal of its end. No request may be refused because the session has ended: it goes on.
func TestRequestBeforeTheEndOfItsSession(t *testing.T) {
	w := newWorld(Options{Seed: 703930, Steps: 500, Observers: -1})
	require.NoError(t, w.run())
}

// TestNothingIsTakenBehindALostRequest hands the leadership over while requests of the leader's clients wait behind a
// sync that is not answered. They are lost, and their connections end. What has come behind them on a connection must
// not be executed by the next leader.
func TestNothingIsTakenBehindALostRequest(t *testing.T) {
	w := newWorld(Options{Seed: 805219, Steps: 200, Observers: -1})
	require.NoError(t, w.run())
}

// TestSessionThatStaysKeepsItsOrder lets the client of a local session, with requests that wait behind a sync, ask
// another server for the session. That is refused, so the session stays, and none of its requests may be left out.
func TestSessionThatStaysKeepsItsOrder(t *testing.T) {
	w := newWorld(Options{Seed: 809100, Steps: 200, Observers: -1})
	require.NoError(t, w.run())
}
