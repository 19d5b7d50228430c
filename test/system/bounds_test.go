package system

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
)

// TestBoundsNotice changes what is known of a run in which nothing went wrong. The checks of refusals, of sessions
// that must end and of servers that must answer notice each change.
func TestBoundsNotice(t *testing.T) {
	var w *world
	for seed := uint64(4); w == nil || len(w.burials) == 0; seed += 4 { // some let no client die at the end
		w = newWorld(Options{Seed: seed, Steps: 300, Servers: 3, Clients: 6, Faults: []Fault{}, Features: []Feature{}})
		require.NoError(t, w.run(), "seed %d", seed)
	}
	r := w.replay()
	require.NoError(t, r.run())
	require.NoError(t, w.buried(r.expiries))
	require.NoError(t, w.refusals())

	w.burials[0].at -= 2 * burySlack
	require.Error(t, w.buried(r.expiries), "the session has lived too long")
	w.burials[0].at += 2 * burySlack
	require.Error(t, w.buried(nil), "the session has not ended")

	c := w.connections[0]
	it := c.items[slices.IndexFunc(c.items, func(it *item) bool { return it.request != nil })]
	it.err, it.came, it.request.sent = proto.ErrNotReadOnly, time.Hour, time.Hour // long after the servers began
	require.Error(t, w.refusals(), "there was room")
	w.faults.past = append(w.faults.past, incident{FullDisk, c.server%3 + 1, it.came, it.came})
	w.reigns = nil
	require.Error(t, w.refusals(), "the disk of another follower was full")
	w.faults.past[len(w.faults.past)-1].server = c.server
	require.NoError(t, w.refusals(), "the disk of this server was full")

	w.s.now += 2 * time.Hour
	w.unanswered(w.clients[0], 1, w.s.now-silenceMin/2, "a ping")
	require.NoError(t, w.s.failure, "it has not waited long")
	w.s.slow = ""
	w.clients[0].slow = false
	w.unanswered(w.clients[0], 1, w.s.now-2*silenceMin, "a ping")
	require.Error(t, w.s.failure)
}

// TestOldTxnsAreAdopted checks that txns are known that only a state holds whose log is gone.
func TestOldTxnsAreAdopted(t *testing.T) {
	var w *world
	var n *node
	z := proto.Zxid(0)
	for seed := uint64(1); z == 0; seed++ { // until one has a snapshot
		w = newWorld(Options{Seed: seed, Steps: 1000, Servers: 1, Clients: 4, Faults: []Fault{Kill},
			Features: []Feature{}})
		require.NoError(t, w.run())
		n = w.nodes[0]
		z = n.newestSnapshot(1 << 62)
	}
	w.harvest(n)
	require.Contains(t, w.logs, z)
	delete(w.history, z)
	delete(w.history, w.logs[z].prev)
	n.disk.mem.Hook(nil)
	names, err := n.disk.mem.List(dataDir + "/version-2")
	require.NoError(t, err)
	for _, name := range names {
		if name[:3] == "log" {
			require.NoError(t, n.disk.mem.Remove(dataDir+"/version-2/"+name))
		}
	}
	w.adopt(n, z)
	require.Contains(t, w.history, z)
	require.Contains(t, w.history, w.logs[z].prev)
}

// TestMemoryIsSeen checks that the figures of what servers hold go up and down in a run.
func TestMemoryIsSeen(t *testing.T) {
	w := newWorld(Options{Seed: 1, Steps: 300, Servers: 3, Clients: 6, Busy: true, Faults: []Fault{},
		Features: []Feature{}})
	w.window = 7
	var most server.Held
	var look func()
	look = func() {
		for _, n := range w.nodes {
			if n.up {
				h := n.srv.Held()
				most.Requests, most.Longest = max(most.Requests, h.Requests), max(most.Longest, h.Longest)
				most.Queued, most.Window = max(most.Queued, h.Queued), max(most.Window, h.Window)
			}
		}
		w.s.plan(time.Millisecond, nil, "look", look)
	}
	look()
	require.NoError(t, w.run())
	require.NotZero(t, most.Requests)
	require.NotZero(t, most.Longest)
	require.NotZero(t, most.Queued)
	require.GreaterOrEqual(t, most.Window, w.window)

	n := w.nodes[0]
	n.bounded()
	require.NoError(t, w.s.failure)
	n.cfg.GlobalOutstandingLimit = -1000
	n.bounded()
	require.ErrorContains(t, w.s.failure, string(Bounded))
	require.Empty(t, n.holds())
	w.window = 1
	require.Contains(t, n.holds(), "for learners")
}
