package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDeadClientsOfALeaderThatLeadsAgain lets clients die, and then kills the leader again and again, more often than
// their sessions last. It is started again at once and mostly leads again, although nobody has told it of silent
// sessions while it was down. Those of the dead clients end within their timeout and the time without a leader.
func TestDeadClientsOfALeaderThatLeadsAgain(t *testing.T) {
	again, leaders := 0, 0
	for seed := uint64(1); seed <= 20; seed++ {
		w := newWorld(Options{Seed: seed, Servers: 3 + 2*int(seed%2), Faults: []Fault{}, Features: []Feature{},
			Punctual: true, Idle: true, Clients: 4})
		stop := w.s.guard()
		t.Cleanup(stop) // also when a check fails
		for _, n := range w.nodes {
			require.NoError(t, n.disk.found())
			n.start()
		}
		w.until(t, "an ensemble", w.allServe)
		// A leader alone knows of the clients that it serves.
		follower := w.nodes[0]
		if follower == w.leader() {
			follower = w.nodes[1]
		}
		longest := time.Duration(0)
		for id := range w.o.Clients {
			c := w.newClient(id)
			c.alone = follower.id
			w.clients = append(w.clients, c)
			w.until(t, "a session", func() bool {
				return c.session != nil && w.leader().srv.Status().Sessions == id+1
			})
			longest = max(longest, c.session.timeout)
		}
		died := w.s.now
		for _, c := range w.clients {
			c.p.kill()
			w.net.unplug(c.host, true)
		}
		// The leader has their last requests, hears that they have gone, and tells the others.
		w.s.runFor(3 * w.tick)
		leaderless := time.Duration(0) // with the time since the last PING of each leader
		for w.leader().srv.Status().Sessions > 0 {
			require.Less(t, w.s.now-died-leaderless, longest+burySlack, "seed %d", seed)
			leader := w.leader()
			leader.kill(100, true)
			leader.start()
			leaders++
			leaderless += w.tick/2 + w.until(t, "a leader", func() bool { return w.leader() != nil })
			if w.leader() == leader {
				again++
			}
			leaderless += w.until(t, "an ensemble", w.allServe) // a server that has just started tells nothing
			for next := w.s.now + w.timeoutMin/2; w.s.now < next && w.leader().srv.Status().Sessions > 0; {
				w.s.runFor(w.tick / 10)
			}
		}
		w.end()
		stop()
	}
	t.Logf("%d of %d killed leaders have led again", again, leaders)
	require.Greater(t, again, leaders/4)
}
