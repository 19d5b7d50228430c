package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServerThatARepairedDiskHasEndedIsRestarted repairs a disk between its failure and the end of the server, which
// notices it later: while faults go on, and as they end. The operator restarts the server in both cases.
func TestServerThatARepairedDiskHasEndedIsRestarted(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		w, end := scripted(t, Options{Seed: seed, Servers: 3})
		w.s.slow = "journal" // the failure is reported late
		for _, n := range w.nodes {
			n.start()
		}
		w.clients = append(w.clients, w.newClient(0))
		w.watch()
		w.until(t, "an ensemble", w.allServe)
		n := w.nodes[seed%3]
		life := n.lives
		n.disk.bad, n.disk.hurt = true, true
		for n.srv.Failure() == nil {
			require.True(t, w.s.step())
		}
		require.NotNil(t, n.p, "the process has ended already")
		if seed%2 == 0 {
			w.settle()
			require.NoError(t, w.s.failure, "seed %d", seed)
		} else {
			n.disk.repair()
			w.until(t, "the end of the server", func() bool { return n.p == nil })
			w.until(t, "the server", n.serves)
		}
		require.Equal(t, life+1, n.lives)
		end()
	}
}

// TestNothingFailsAfterTheFaults ends the faults while a strand and a jump of a wall clock are under way. Neither goes
// on: no process is killed, and no clock jumps.
func TestNothingFailsAfterTheFaults(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		w, end := scripted(t, Options{Seed: seed, Servers: 3})
		for _, n := range w.nodes {
			n.start()
		}
		w.clients = append(w.clients, w.newClient(0))
		w.watch()
		w.until(t, "an ensemble", w.allServe)
		c, follower := w.clients[0], w.nodes[w.leader().id%3]
		c.alone, c.broken = follower.id, true
		w.until(t, "a client at a follower", func() bool {
			return c.conn != nil && c.conn.isOpen && !c.broken && c.conn.server == follower.id
		})
		c.alone = 0
		w.faults.strand(follower)
		require.NotZero(t, w.faults.done["strand: done"])
		for w.faults.done["clockjump: suspended"] == 0 {
			w.faults.jump(time.Second)
		}
		lives, wall := 0, time.Duration(0)
		for _, n := range w.nodes {
			lives += n.lives
			wall += n.p.wall
		}
		w.settle()
		require.NoError(t, w.s.failure, "seed %d", seed)
		w.s.runFor(2 * time.Second)
		for _, n := range w.nodes {
			lives -= n.lives
			wall -= n.p.wall
		}
		require.Zero(t, lives, "seed %d: a server was killed", seed)
		require.Zero(t, wall, "seed %d: a clock has jumped", seed)
		end()
	}
}

// TestWithoutFaultsALeaderLeadsOn: while nothing is wrong, nothing that a leader decides of its own accord ends its
// leadership.
func TestWithoutFaultsALeaderLeadsOn(t *testing.T) {
	for seed := range uint64(6) {
		w := newWorld(Options{Seed: seed + 1, Steps: 300, Servers: 3, Faults: []Fault{}, Features: []Feature{}})
		require.NoError(t, w.run(), "seed %d", seed+1)
		require.NotEmpty(t, w.history)
		for zxid := range w.history {
			require.EqualValues(t, 1, zxid.Epoch(), "seed %d", seed+1)
		}
	}
}
