package system

import (
	"slices"
	"strings"
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

// says reports whether the trace has a line with this text, and forgets the trace.
func (w *world) says(text string) bool {
	found := slices.ContainsFunc(w.s.trace, func(line string) bool { return strings.Contains(line, text) })
	w.s.trace = w.s.trace[:0]
	return found
}

// TestLogIsPurgedWhileALearnerIsBroughtUpToDate holds up the state that a leader sends to a server that comes back,
// until the leader has purged the txns behind it from its log. The link ends with what the log does not hold, and
// nothing follows: the server comes again, and adopts no state without the txns that belong to it.
func TestLogIsPurgedWhileALearnerIsBroughtUpToDate(t *testing.T) {
	purged := 0
	for seed := uint64(1); seed <= 6; seed++ {
		w := newWorld(Options{Seed: seed, Servers: 3, Clients: 3, Faults: []Fault{}, Features: []Feature{}, Busy: true,
			Configure: func(c *config.Config) { c.SnapCount, c.ForceSnapshotSync, c.SyncLimit = 4, true, 50 }})
		w.s.slow, w.s.tracing, w.window, w.net.room = "", true, 1, 1000
		stop := w.s.guard()
		t.Cleanup(stop) // also when a check fails
		for _, n := range w.nodes {
			require.NoError(t, n.disk.found())
			n.start()
		}
		for id := range w.o.Clients {
			w.clients = append(w.clients, w.newClient(id))
		}
		w.watch()
		w.until(t, "an ensemble", w.allServe)
		w.s.tracing = false
		w.s.runFor(20 * time.Second) // the tree grows above what a link buffers
		w.s.tracing = true
		for range 4 {
			leader := w.leader()
			n := w.nodes[leader.id%3]
			w.s.runFor(w.s.between(0, time.Second))
			n.kill(100, true)
			way := w.net.way(leader.id, n.id)
			w.s.runFor(500 * time.Millisecond)
			n.start()
			w.until(t, "a learner", func() bool { return w.says("receiving a snapshot") })
			way.close()
			w.s.runFor(w.s.between(0, 4*time.Second))
			w.net.open(way)
			w.says("")
			w.until(t, "the learner", func() bool {
				if w.says("no longer holds the txns that a learner needs") {
					purged++
				}
				return w.allServe()
			})
		}
		w.settle()
		stop() // the checks take long, and are no event
		require.NoError(t, w.s.failure, "seed %d", seed)
		require.NoError(t, w.check(), "seed %d", seed)
		w.end()
	}
	require.NotZero(t, purged)
	t.Log(purged)
}

// TestServersDieWhileTheEnsembleBegins kills servers of a new ensemble that no operator has marked as new, so that
// each has to hear from all others that they are empty. Some have heard it, and may have promised an epoch; others
// have not. No server can have promised anything before a quorum has heard it, so the ensemble begins in the end.
func TestServersDieWhileTheEnsembleBegins(t *testing.T) {
	partly := 0
	for seed := uint64(1); seed <= 40; seed++ {
		w := newWorld(Options{Seed: seed, Servers: 3 + 2*int(seed%2), Clients: 1, Mean: 30 * time.Millisecond,
			Faults: []Fault{Kill, PowerLoss, Outage, MidWrite}, Features: []Feature{}})
		stop := w.s.guard()
		t.Cleanup(stop) // also when a check fails
		for _, n := range w.nodes {
			n.disk.interrupt = 1 + w.s.rng.IntN(firstMax)
			n.start()
		}
		w.faults.begin()
		w.watch()
		w.s.runFor(w.s.between(200*time.Millisecond, 2*time.Second))
		blank := 0
		for _, n := range w.nodes {
			if n.disk.meta.Blank() {
				blank++
			}
		}
		if blank > 0 && blank < len(w.nodes) {
			partly++
		}
		w.faults.end()
		w.until(t, "an ensemble", w.allServe)
		w.end()
		stop()
	}
	require.NotZero(t, partly)
	t.Log(partly)
}
