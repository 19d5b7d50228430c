package system

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
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
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
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
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
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
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	require.Greater(t, killed, 100)
}

// patientClients lets followers wait for a silent leader for two seconds, three times as long as a lease lasts, and
// gives clients a timeout with which their sessions' leases last as long.
func patientClients(seed uint64, o Options) *world {
	o.Seed, o.Faults, o.Features, o.Slow = seed, []Fault{}, []Feature{}, "nothing"
	o.Configure = func(c *config.Config) { c.SyncLimit = 20 }
	w := newWorld(o)
	w.timeoutMin, w.timeoutMax = 60*w.tick, 90*w.tick
	return w
}

// TestPausesCostNoConnection suspends one server after the other, whichever role it has, for longer than a lease
// lasts. No client loses its connection, whether its server was suspended or another one.
func TestPausesCostNoConnection(t *testing.T) {
	paused, leaders := 0, 0
	for seed := uint64(1); seed <= 28; seed++ {
		w := patientClients(seed, Options{Steps: 400, Servers: 3 + 2*int(seed%2), Clients: 6, Idle: seed%4 > 0})
		var pause func()
		pause = func() {
			if n := w.nodes[w.s.rng.IntN(len(w.nodes))]; w.leader() != nil && w.allServe() && !w.calm {
				if paused++; n.leads() {
					leaders++
				}
				p := n.p
				p.rest()
				w.s.plan(w.s.between(700*time.Millisecond, 1300*time.Millisecond), nil, "go on", p.goOn)
			}
			w.s.plan(w.s.between(1500*time.Millisecond, 2500*time.Millisecond), nil, "pause", pause)
		}
		pause()
		require.NoError(t, w.run(), "seed %d", seed)
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	t.Logf("%d pauses, %d of leaders", paused, leaders)
	require.Greater(t, leaders, 15)
	require.Greater(t, paused, 100)
}

// TestLostLeaderCostsNoConnection takes the machine of the leader off the network, again and again: the other servers
// notice only that it is silent, and elect another after their leases have ended. Only clients of the lost server lose
// their connections.
func TestLostLeaderCostsNoConnection(t *testing.T) {
	lost := 0
	for seed := uint64(1); seed <= 25; seed++ {
		w := patientClients(seed, Options{Steps: 400, Servers: 3 + 2*int(seed%2), Clients: 6, Idle: seed%4 > 0})
		var lose func()
		lose = func() {
			if leader := w.leader(); leader != nil && !w.calm {
				lost++
				before := len(w.cut)
				for _, n := range w.nodes {
					if n != leader {
						w.net.way(n.id, leader.id).close()
						w.net.way(leader.id, n.id).close()
					}
				}
				w.s.plan(2500*time.Millisecond, nil, "heal", func() {
					w.net.heal()
					its := func(id int) bool { return id == leader.id }
					w.cut = append(w.cut[:before], slices.DeleteFunc(w.cut[before:], its)...)
				})
			}
			w.s.plan(w.s.between(4*time.Second, 6*time.Second), nil, "lose", lose)
		}
		lose()
		require.NoError(t, w.run(), "seed %d", seed)
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	t.Logf("%d leaders lost", lost)
	require.Greater(t, lost, 20)
}

// TestLearnersThatAreCutOffKeepTheirClients takes one learner after the other off the network, for longer than a lease
// lasts. It reaches nobody, so it waits for its leader, and no client loses its connection.
func TestLearnersThatAreCutOffKeepTheirClients(t *testing.T) {
	cut := 0
	for seed := uint64(1); seed <= 25; seed++ {
		w := patientClients(seed, Options{Steps: 400, Servers: 3 + 2*int(seed%2), Clients: 6, Idle: seed%4 > 0})
		var part func()
		part = func() {
			if n := w.nodes[w.s.rng.IntN(len(w.nodes))]; w.allServe() && !n.leads() && !w.calm {
				cut++
				for _, other := range w.nodes {
					if other != n {
						w.net.way(n.id, other.id).close()
						w.net.way(other.id, n.id).close()
					}
				}
				w.s.plan(w.s.between(700*time.Millisecond, 1300*time.Millisecond), nil, "heal", w.net.heal)
			}
			w.s.plan(w.s.between(1500*time.Millisecond, 2500*time.Millisecond), nil, "part", part)
		}
		part()
		require.NoError(t, w.run(), "seed %d", seed)
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	t.Logf("%d learners cut off", cut)
	require.Greater(t, cut, 50)
}

// TestBrokenLinksCostNoConnection breaks the connections between servers, one after the other, whenever all servers
// serve. The learner is back at the same leader at once. No client loses its connection, nothing that it has asked for
// is lost, and nothing is done twice.
func TestBrokenLinksCostNoConnection(t *testing.T) {
	broken := 0
	for seed := uint64(1); seed <= 25; seed++ {
		w := newWorld(Options{Seed: seed, Steps: 400, Servers: 3 + 2*int(seed%2), Clients: 6, Faults: []Fault{},
			Features: []Feature{}, Slow: "nothing"})
		var reset func()
		reset = func() {
			if all := w.net.betweenServers(); len(all) > 0 && w.allServe() && !w.calm {
				broken++
				all[w.s.rng.IntN(len(all))].Close()
			}
			w.s.plan(w.s.between(0, 600*time.Millisecond), nil, "reset", reset)
		}
		reset()
		require.NoError(t, w.run(), "seed %d", seed)
		require.Empty(t, w.cut, "seed %d: connections that servers ended", seed)
	}
	t.Logf("%d broken", broken)
	require.Greater(t, broken, 100)
}
