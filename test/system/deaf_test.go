package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leader returns the server that leads and serves, or nil.
func (w *world) leader() *node {
	for _, n := range w.nodes {
		if n.serves() && n.srv.Status().Mode == "leader" {
			return n
		}
	}
	return nil
}

// until runs the simulation until ok holds, and returns how long that took.
func (w *world) until(t *testing.T, what string, ok func() bool) time.Duration {
	t.Helper()
	began := w.s.now
	for !ok() {
		w.s.runFor(time.Millisecond)
		require.NoError(t, w.s.failure, "seed %d", w.s.seed)
		require.Less(t, w.s.now-began, time.Minute, "seed %d: %s", w.s.seed, what)
	}
	return w.s.now - began
}

// allServe reports whether every server serves.
func (w *world) allServe() bool {
	for _, n := range w.nodes {
		if !n.serves() {
			return false
		}
	}
	return true
}

// TestDeafLeader cuts all ways to a leader whose own messages arrive: its proposals, its pings, and then its vote. Its
// followers leave it when TCP has repeated what they send to it, before the lease of the leader has ended, and elect
// another within a second. When it hears again, it follows.
func TestDeafLeader(t *testing.T) {
	var longest time.Duration
	for seed := uint64(1); seed <= 20; seed++ {
		w := newWorld(Options{Seed: seed, Servers: 3 + 2*int(seed%2), Faults: []Fault{}, Clients: 1})
		w.s.slow = "" // tasks that begin a second late are no measure
		for _, n := range w.nodes {
			n.cfg.SyncLimit = []int{6, 20, 100}[seed%3] // followers wait for the end of a short lease only
		}
		stop := w.s.guard()
		t.Cleanup(stop) // also when a check fails
		for _, n := range w.nodes {
			require.NoError(t, n.disk.found())
			n.start()
		}
		w.until(t, "an ensemble", w.allServe)
		deaf := w.leader()
		for _, n := range w.nodes {
			if n != deaf {
				w.net.way(n.id, deaf.id).close()
			}
		}
		took := w.until(t, "another leader", func() bool { l := w.leader(); return l != nil && l != deaf })
		silent := deafAfter + w.tick/2 // a PING is the first that is not heard
		longest = max(longest, took-silent)
		require.Less(t, took-silent, time.Second, "seed %d", seed)
		w.net.heal()
		w.until(t, "the deaf server", w.allServe)
		w.end()
		stop()
	}
	t.Logf("at most %v after the leader could know", longest)
}
