package system

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
)

// preferring returns a world in which one server, by id, has a priority.
func preferring(o Options, preferred int) *world {
	o.Configure = func(c *config.Config) {
		c.PriorityPause = 200 * time.Millisecond
		if c.OwnID() == int64(preferred) {
			c.Priority = 1
		}
	}
	o.Features = []Feature{}
	return newWorld(o)
}

// leaders returns the servers that have led, one for each leadership.
func (w *world) leaders() (ids []int) {
	epoch := int64(-1)
	for _, r := range w.reigns {
		if r.epoch != epoch {
			ids, epoch = append(ids, r.server), r.epoch
		}
	}
	return ids
}

// TestPriorityMovesTheLeadership lets each server in turn be the preferred one, without a fault. The server that was
// elected hands over, once, and no connection ends.
func TestPriorityMovesTheLeadership(t *testing.T) {
	moved := 0
	for seed := range uint64(40) {
		servers := 3 + 2*int(seed%2)
		preferred := 1 + int(seed/2)%servers
		w := preferring(Options{Seed: seed + 1, Steps: 150, Servers: servers, Clients: 4, Faults: []Fault{},
			Slow: "nothing"}, preferred)
		require.NoError(t, w.run(), "seed %d", seed+1)
		led := w.leaders()
		require.Equal(t, preferred, led[len(led)-1], "seed %d", seed+1)
		require.LessOrEqual(t, len(led), 2, "seed %d: the leadership moves no more", seed+1)
		require.Empty(t, w.cut, "seed %d", seed+1)
		moved += len(led) - 1
	}
	t.Logf("the leadership moved in %d of 40 runs; in the others the preferred server was elected", moved)
	require.Greater(t, moved, 20)
}

// TestPreferredServerLeadsAgain lets everything happen to an ensemble with a preferred server. The checks hold, and
// that server leads after the faults.
func TestPreferredServerLeadsAgain(t *testing.T) {
	led, lost, longest := 0, 0, time.Duration(0)
	for seed := range uint64(20) {
		servers := 3 + 2*int(seed%2)
		preferred := 1 + int(seed/2)%servers
		w := preferring(Options{Seed: seed + 1, Steps: 500, Servers: servers, Slow: "nothing"}, preferred)
		func() {
			stop := w.s.guard()
			defer stop()
			defer w.end()
			for _, n := range w.nodes {
				require.NoError(t, n.disk.found())
				n.start()
			}
			for id := range w.o.Clients {
				w.clients = append(w.clients, w.newClient(id))
			}
			w.faults.begin()
			w.watch()
			for w.steps < w.o.Steps && w.s.step() && w.s.now < runMax {
			}
			ended := w.s.now
			leads := func() bool { l := w.leader(); return l != nil && l.id == preferred }
			if !leads() {
				lost++
			}
			w.settle()
			require.NoError(t, w.s.failure, "seed %d", seed+1)
			w.until(t, "the preferred server to lead", leads)
			longest = max(longest, w.ruled(w.s.now)-ended)
			w.settle()
			require.NoError(t, w.s.failure, "seed %d", seed+1)
			require.NoError(t, w.check(), "seed %d", seed+1)
		}()
		for _, id := range w.leaders() {
			if id == preferred {
				led++
			}
		}
	}
	t.Logf("the preferred server led %d times; in %d of 20 runs it did not when the faults ended, and did within %v",
		led, lost, longest)
	require.NotZero(t, lost)
}
