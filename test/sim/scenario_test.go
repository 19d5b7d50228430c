package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/zab"
)

// calm is an ensemble without faults in which the test lets things go wrong, once it serves.
func calm(t *testing.T, seed uint64, voters, observers int) *Sim {
	t.Helper()
	s := New(Options{Seed: seed, Calm: true, Voters: voters, Observers: observers}).Tracing()
	require.Nil(t, s.Run())
	s.until(t, "an ensemble", func() bool { return s.united() != nil })
	return s
}

// until runs the simulation until ok holds.
func (s *Sim) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := s.now + 1_000_000
	v := s.guard(func() {
		for !ok() && s.now < limit {
			s.step()
		}
	})
	require.Nil(t, v, "%s: %v", what, v)
	require.Less(t, s.now, limit, "%s: %s", what, s.standing())
}

// write has a txn acknowledged.
func (s *Sim) written(t *testing.T) {
	t.Helper()
	acked := s.Stats.Acked
	s.until(t, "an acknowledgement", func() bool {
		if s.Stats.Acked > acked {
			return true
		}
		for _, n := range s.nodes {
			if len(s.load.pending) == 0 { // none, or lost with its leader
				s.load.write(s, n, 1)
			}
		}
		return false
	})
}

// A seed is the whole truth: two runs of it do the same.
func TestSameSeedSameRun(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		o := Options{Seed: seed, Steps: 3000, Observers: -1, Exchange: seed > 5}
		a, b := New(o).Tracing(), New(o).Tracing()
		require.Equal(t, a.Run(), b.Run())
		require.Equal(t, strings.Join(a.Trace, "\n"), strings.Join(b.Trace, "\n"))
		require.NotEmpty(t, a.Trace)
	}
}

// A leader that stops is succeeded at once: with 1 tick of 10 ms and messages of up to 0.6 ms, the next write is
// acknowledged far within the 50 ms that the design allows, and no tick passes that an election would need.
func TestHandOverIsImmediate(t *testing.T) {
	longest := int64(0)
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 1)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		leader, acked := s.united(), s.Stats.Acked
		s.load.write(s, leader, 3) // still in flight
		begin := s.now
		leader.handOver(true)
		leader.drain()
		s.until(t, "the end of the old leader", func() bool { return !leader.up })
		require.Equal(t, acked+3, s.Stats.Acked, "what was in flight is acknowledged before it goes")
		s.written(t)
		took := s.now - begin
		longest = max(longest, took)
		require.Less(t, took, int64(5000), "seed %d: 5000 units are 50 ms; a tick is 1000", seed)
	}
	t.Logf("at most %.1f ms", float64(longest)/100)
}

// Leadership goes to the server that is named, as quickly, and what was in flight is acknowledged.
func TestHandOverToANamedServer(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3+2*int(seed%2), 1)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		for range 4 {
			leader, acked := s.united(), s.Stats.Acked
			named := s.nodes[int(leader.id)%(len(s.nodes)-1)] // the next voter; the observer is the last
			s.load.write(s, leader, 3)                        // still in flight
			begin := s.now
			require.True(t, leader.handOverTo(named.id))
			leader.drain()
			s.until(t, "another leader", func() bool {
				return slices.ContainsFunc(s.nodes,
					func(n *node) bool { return n != leader && n.status.Serving && n.status.State == zab.Leading })
			})
			require.Less(t, s.now-begin, int64(5000), "seed %d: 5000 units are 50 ms; a tick is 1000", seed)
			s.written(t)
			require.GreaterOrEqual(t, s.Stats.Acked, acked+3)
			s.until(t, "everybody", func() bool { return s.united() != nil })
			require.Equal(t, named.id, s.united().id, "seed %d", seed)
		}
	}
}

// A leader that dies is succeeded after an election.
func TestLeaderDies(t *testing.T) {
	longest := int64(0)
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 0)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		begin := s.now
		s.united().crash()
		s.written(t)
		longest = max(longest, s.now-begin)
		require.Less(t, s.now-begin, int64(15_000), "seed %d: 15000 units are 150 ms", seed)
	}
	t.Logf("at most %.1f ms", float64(longest)/100)
}

// A server comes back that has promised an epoch to a leader which died before any other server heard of it. The
// leader stays, and leads all servers into a later epoch while they serve: there is no election, and writes go on.
func TestEpochIsRenewed(t *testing.T) {
	longest := int64(0)
	for seed := uint64(1); seed <= 40; seed++ {
		s := calm(t, seed, 3+2*int(seed%2), 1)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		leader := s.united()
		n := s.nodes[(leader.id)%3]
		n.crash()
		n.disk.accepted += 3
		s.written(t)
		elections, epoch := s.Stats.Elections, leader.status.Epoch
		n.start()
		for i := 0; n.status.Epoch == 0 || !n.status.Serving; i++ {
			began := s.now
			s.written(t)
			longest = max(longest, s.now-began)
			require.Less(t, i, 10_000, s.standing())
		}
		s.until(t, "everybody", func() bool { return s.united() != nil })
		require.Equal(t, leader, s.united(), "the leader stays")
		require.Equal(t, epoch+4, leader.status.Epoch)
		require.Equal(t, elections, s.Stats.Elections, "no server looks for a leader")
		s.written(t)
		for _, n := range s.nodes {
			require.Empty(t, n.core.Strangers())
			require.Nil(t, n.status.Outside)
		}
	}
	t.Logf("the longest write took %.1f ms", float64(longest)/100)
}

// A server that speaks as Java does comes back with a promise of a later epoch than that of the leader. It stays
// outside while the others serve, until elections have led to its epoch. In an ensemble of Warren servers the checker
// of convergence waits for no election: see TestEpochIsRenewed.
func TestPromiseBesideJava(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		for _, java := range []bool{false, true} {
			s := New(Options{Seed: seed, Calm: true, Voters: 3, Observers: 1}).Tracing()
			n := s.nodes[seed%3]
			n.plain = java
			require.Nil(t, s.Run())
			s.until(t, "everybody", func() bool { return s.united() != nil })
			s.written(t)
			s.until(t, "everybody", func() bool { return s.united() != nil })
			n.crash()
			s.written(t)
			for _, o := range s.nodes {
				n.disk.accepted = max(n.disk.accepted, o.status.Epoch)
			}
			ahead := int64(1 + seed%3)
			n.disk.accepted += ahead
			n.start()
			if java {
				var leader *node
				s.until(t, "the others", func() (ok bool) {
					var epochs int64
					leader, epochs = s.overtaken()
					return epochs == ahead
				})
				begin := s.now
				s.until(t, "time", func() bool { return s.now > begin+100_000 })
				require.False(t, n.status.Serving)
				s.written(t)
				require.True(t, leader.status.Serving)
			}
			require.Nil(t, s.guard(s.converge))
			if java {
				require.LessOrEqual(t, int64(s.Stats.Overtaken), ahead)
				require.Positive(t, s.Stats.Overtaken)
			} else {
				require.Zero(t, s.Stats.Overtaken)
			}
		}
	}
}

// The first leader of a new ensemble draws its identity, and dies before another server has adopted its epoch. The
// next leader draws another one. When the first server comes back, it gives its own up.
func TestIdentityOfAnEpochThatWasNeverEstablished(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 3}).Tracing()
		require.Nil(t, s.Run())
		var first *node
		s.until(t, "an identity", func() bool {
			for _, n := range s.nodes {
				if n.status.State == zab.Leading {
					first = n
				}
				n.disk.full = n != first && n.disk.accepted > 0
			}
			return first != nil && first.disk.current > 0
		})
		drawn := first.disk.lineage.Ensemble
		for _, n := range s.nodes {
			n.crash()
		}
		for _, n := range s.nodes {
			if require.Equal(t, n == first, n.disk.current > 0); n != first {
				n.start()
			}
		}
		s.written(t)
		first.start()
		s.until(t, "everybody", func() bool { return s.united() != nil })
		final := s.united().lineage.Ensemble
		require.NotEqual(t, drawn, final)
		for _, n := range s.nodes {
			require.True(t, n.lineage.Final)
			require.Equal(t, final, n.lineage.Ensemble)
			require.Empty(t, n.core.Strangers())
		}
	}
}

// A server with the disk of another ensemble is brought in line by a leader that has lost meta.db, so that the two do
// not know that their histories differ. It crashes while the state of the leader takes the place of its own. What is
// on its disk then does not say of the new history that it went through the epochs of the former one.
func TestCrashWhileAnotherHistoryIsInstalled(t *testing.T) {
	torn := 0
	for seed := uint64(1); seed <= 100; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 3, Exchange: true})
		s.exchanges.edges = 0 // the test exchanges disks
		require.Nil(t, s.Run())
		foreign := s.abroad()[0][2]
		if !foreign.exists || foreign.blank || foreign.lineage == nil || len(foreign.history) == 0 {
			continue
		}
		s.until(t, "later epochs than those of the other ensemble", func() bool {
			l := s.united()
			if l != nil && l.status.Epoch <= foreign.accepted+1 {
				l.crash()
				l.start()
			}
			return l != nil && l.up && s.load.write(s, l, 1)
		})
		s.until(t, "everybody", func() bool {
			return s.united() != nil && !slices.ContainsFunc(s.nodes, func(n *node) bool {
				return lastOf(n.disk.history).Epoch() <= foreign.accepted
			})
		})
		for _, n := range s.nodes {
			n.crash()
		}
		silent, stranger := s.nodes[0], s.nodes[2]
		silent.replace(silent.image().withoutMeta(false))
		stranger.replace(foreign)
		silent.start()
		stranger.start()
		s.until(t, "a state that is installed", func() bool {
			return slices.ContainsFunc(stranger.disk.queue, func(w write) bool { return w.p.Install != nil })
		})
		s.until(t, "that write", func() bool { return stranger.disk.busy && stranger.disk.queue[0].p.Install != nil })
		stranger.crash()
		d := &stranger.disk
		if d.current != foreign.current || !equal(d.history, silent.disk.history) {
			continue
		}
		torn++
		for _, r := range lineageOf(d).Reigns {
			require.Zero(t, r.Mark, "seed %d: the history did not go through epoch %d of %v", seed, r.Epoch, d.lineage)
		}
	}
	require.Greater(t, torn, 3, "the crash is to come between the history and its lineage")
}

// Two of seven servers are down, two are new, and one has the disk of another ensemble with a later epoch, so the new
// ones vote for it. The last two have the history of this ensemble: they are a quorum only with both new ones.
func TestServersConcedeTogether(t *testing.T) {
	tried := 0
	for seed := uint64(1); seed <= 40; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 7, Exchange: true})
		s.exchanges.edges = 0 // the test exchanges disks
		require.Nil(t, s.Run())
		s.until(t, "an ensemble", func() bool { return s.united() != nil })
		s.written(t)
		s.until(t, "everybody", func() bool {
			return s.united() != nil && !slices.ContainsFunc(s.nodes, func(n *node) bool {
				return len(n.disk.history) == 0 || n.disk.lineage == nil || !n.disk.lineage.Final
			})
		})
		foreign, epoch := s.abroad()[0][6], s.united().status.Epoch
		if l := foreign.lineage; foreign.blank || foreign.current <= epoch || l == nil || !l.Final {
			continue
		}
		tried++
		for _, n := range s.nodes {
			n.crash()
		}
		for _, n := range s.nodes[4:6] {
			n.replace(image{of: n.id, contents: contents{exists: true}})
		}
		s.nodes[6].replace(foreign)
		for _, i := range []int{1, 2, 4, 5, 6} {
			s.nodes[i].start()
		}
		s.until(t, "a leader", func() bool { return s.nodes[1].reigns() || s.nodes[2].reigns() })
		require.False(t, s.nodes[6].status.Serving, "seed %d", seed)
	}
	require.Greater(t, tried, 3)
}

// A server has lost meta.db, and another txn than its followers where their logs end: checksums tell that. It comes
// back with its own directory, which has lost meta.db as well, so that its lineage says the same as before.
func TestOwnDirectoryAfterAnother(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		if seed%16 == 9 {
			continue // leaders send SNAP only, so there is no checksum
		}
		s := New(Options{Seed: seed, Calm: true, Voters: 3, Exchange: true})
		s.exchanges.edges = 0 // the test exchanges disks
		require.Nil(t, s.Run())
		s.until(t, "an ensemble", func() bool { return s.united() != nil })
		s.written(t)
		s.until(t, "everybody", func() bool {
			return s.united() != nil && !slices.ContainsFunc(s.nodes, func(n *node) bool {
				return !equal(n.disk.history, s.united().disk.history)
			})
		})
		for _, n := range s.nodes {
			n.crash()
		}
		n, other := s.nodes[0], s.nodes[2]
		own := n.image().withoutMeta(false)
		another := own
		another.run, another.history = nil, slices.Clone(own.history)
		last := &another.history[len(another.history)-1]
		last.Payload = append([]byte{1}, last.Payload[1:]...)
		another.history = append(another.history, zab.Txn{Zxid: last.Zxid + 1, Payload: s.load.payload()})
		n.replace(another)
		n.start()
		other.start()
		s.until(t, "a stranger", func() bool { return len(other.core.Strangers()) > 0 && other.status.Outside != nil })
		n.crash()
		n.replace(own)
		n.start()
		s.until(t, "a leader", func() bool { return n.status.Serving && other.status.Serving })
		require.Empty(t, other.core.Strangers())
		require.Nil(t, other.status.Outside)
	}
}

// All servers lose power right after UPTODATE: what was acknowledged is there afterwards. Source: quorum-protocol
// 15.5.3.
func TestAllDieAfterUpToDate(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 0)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.united().crash()
		up := 0
		s.until(t, "UPTODATE", func() bool {
			for _, n := range s.nodes {
				if n.up && n.status.State == zab.Following && n.status.Serving && n.status.Leader != 0 {
					up = int(n.id)
					return n.status.Epoch > 1
				}
			}
			return false
		})
		require.NotZero(t, up)
		for _, n := range s.nodes {
			n.crash()
		}
		for _, n := range s.nodes {
			n.start()
		}
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// A leader that is cut off from its followers in one direction only gives up, and the others elect. When the ways are
// open again it follows, and what it had proposed alone is gone. Source: quorum-protocol 15.5.4, 15.5.5, 15.5.9.
func TestLeaderCutOff(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 0)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		old := s.united()
		for _, n := range s.nodes {
			if n != old {
				s.net.stall(old.id, n.id, true)
			}
		}
		s.load.write(s, old, 3) // no server hears of these
		s.until(t, "another leader", func() bool {
			for _, n := range s.nodes {
				if n != old && n.status.State == zab.Leading && n.status.Serving {
					return true
				}
			}
			return false
		})
		s.written(t)
		for _, n := range s.nodes {
			s.net.stall(old.id, n.id, false)
		}
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// A server whose disk was lost joins again, is brought up to date, and then counts. Source: quorum-protocol 14.3 R16.
func TestDiskLost(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 0)
		for range 5 {
			s.written(t)
		}
		lost := s.nodes[seed%3]
		lost.crash()
		lost.wipe()
		lost.start()
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil && !lost.disk.blank })
		other := s.nodes[(seed+1)%3]
		other.crash() // now the one that was lost is needed
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// A leader promises the epoch that it is about to renew, and loses its disk before another server hears of it. It
// comes back, and promises the same epoch to the next leader. Only the second leader begins that epoch.
func TestPromiseIsLostWithTheDisk(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 1)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		first, observer := s.united(), s.nodes[3]
		observer.crash()
		observer.disk.accepted += 5
		epoch := observer.disk.accepted + 1
		observer.start()
		s.until(t, "the promise of a leader", func() bool {
			if observer.status.State == zab.Observing && len(observer.ends) > 0 {
				for _, n := range s.nodes[:3] {
					s.net.stall(first.id, n.id, true)
				}
			}
			return first.disk.accepted == epoch
		})
		first.crash()
		observer.crash()
		first.wipe()
		for _, n := range s.nodes[:3] {
			s.net.stall(first.id, n.id, false)
		}
		first.start()
		s.until(t, "the first leader", func() bool { return first.status.Serving && !first.disk.blank })
		require.Less(t, first.disk.accepted, epoch, "no server has heard of the epoch")
		observer.start()
		s.until(t, "everybody", func() bool { return s.united() != nil })
		require.Equal(t, epoch, s.united().status.Epoch)
		require.NotEqual(t, first, s.united())
		require.Equal(t, epoch, first.promised)
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// A voter loses its disk before the first leader of a new ensemble has asked for a promise. All others say that they
// have nothing, so nothing was lost, and the voter counts.
func TestDiskLostInANewEnsemble(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		s := New(Options{Seed: seed, Calm: true, Voters: 3}).Tracing()
		lost := s.nodes[seed%3]
		lost.start()
		lost.crash()
		lost.wipe()
		require.Nil(t, s.Run())
		s.until(t, "everybody", func() bool { return s.united() != nil && !lost.disk.blank })
		s.nodes[(seed+1)%3].crash() // now the one that was lost is needed
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// The checks notice a server that counts again although it has lost a promise, and a second leader of an epoch.
func TestForgottenPromisesAreNoticed(t *testing.T) {
	s := calm(t, 1, 3, 0)
	s.written(t)
	s.until(t, "everybody", func() bool { return s.united() != nil })
	leader := s.united()
	lost := s.nodes[leader.id%3]
	lost.crash()
	lost.wipe()
	require.ErrorContains(t, s.guard(lost.refounded), "has promised epoch")
	other := s.nodes[(leader.id+1)%3]
	epoch := leader.status.Epoch
	again := &zab.Persist{CurrentEpoch: epoch,
		Lineage: &zab.Lineage{Reigns: []zab.Reign{{Epoch: epoch, Leader: other.id, Mark: 1}}}}
	require.ErrorContains(t, s.guard(func() { s.checkDecided(other, again) }), "as server")
	again.Lineage.Reigns[0].Leader = leader.id
	require.Nil(t, s.guard(func() { s.checkDecided(other, again) }), "it follows")
}

// A server whose disk was lost is killed at every step of its synchronization. With what it has on its disk then, it
// does not help one other server to elect or to commit; when both are there it is brought up to date, and counts.
// Source: quorum-protocol 14.3 R16.
func TestDiskLostAndKilled(t *testing.T) {
	steps := []struct {
		name string
		at   func(n *node) bool
	}{
		{"FOLLOWERINFO", func(n *node) bool { return n.status.Phase == zab.Discovery }},
		{"acceptedEpoch", func(n *node) bool { return n.disk.accepted > 0 }},
		{"SNAP", func(n *node) bool { return slices.ContainsFunc(n.ends, func(e *end) bool { return e.hasLoaded }) }},
		{"NEWLEADER", func(n *node) bool { return n.disk.exists }},
		{"currentEpoch", func(n *node) bool { return n.disk.current > 0 }},
		{"UPTODATE", func(n *node) bool { return !n.lost.memory }},
	}
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 0)
		lost, other := s.nodes[seed%3], s.nodes[(seed+1)%3]
		for _, step := range steps {
			s.written(t)
			s.until(t, "everybody", func() bool { return s.united() != nil })
			lost.crash()
			lost.wipe()
			lost.start()
			s.until(t, step.name, func() bool { return step.at(lost) })
			require.True(t, lost.disk.blank, step.name)
			lost.crash()
			other.crash()
			alone := s.nodes[(seed+2)%3]
			s.until(t, "the end of the quorum", func() bool { return alone.status.State == zab.Looking })
			epochs, uncounted := s.Stats.Epochs, lost.disk.blank // the crash may have let the last write through
			lost.start()
			if uncounted {
				begin := s.now
				s.until(t, "time", func() bool { return s.now > begin+100_000 })
				require.Equal(t, epochs, s.Stats.Epochs, "%s: a leader was established", step.name)
				require.True(t, lost.disk.blank, step.name)
			}
			require.True(t, uncounted || step.name == "UPTODATE", step.name)
			other.start()
			s.until(t, "everybody", func() bool { return s.united() != nil && !lost.disk.blank })
		}
		other.crash() // now the one that was lost is needed
		s.written(t)
		require.Nil(t, s.guard(s.checkAcked))
	}
}

// The counter of an epoch ends: the next one begins without an election. Source: quorum-protocol 1.4, 15.5.10.
func TestCounterEnds(t *testing.T) {
	s := New(Options{Seed: 1, Calm: true, Voters: 3, Observers: 0}).Tracing()
	s.limits.CounterMax = 6
	require.Nil(t, s.Run())
	s.until(t, "an ensemble", func() bool { return s.united() != nil })
	begin := s.Stats.Epochs
	for range 30 {
		s.written(t)
	}
	require.GreaterOrEqual(t, s.Stats.Epochs-begin, 4)
	require.Len(t, s.load.ackedAt, 30)
}

// A leader whose only follower goes away in the middle of synchronization gives up within a tickTime or two, because
// that follower does not come back: its election sees one server that leads, and no quorum. Source: BUGS.md.
func TestFollowerLostInSynchronization(t *testing.T) {
	longest := int64(0)
	for seed := uint64(1); seed <= 20; seed++ {
		s := calm(t, seed, 3, 0)
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		for _, n := range s.nodes {
			n.crash()
		}
		s.nodes[0].start()
		s.nodes[1].start()
		var link *end
		s.until(t, "NEWLEADER", func() bool {
			for _, n := range s.nodes[:2] {
				for _, e := range n.ends {
					if n.up && n.status.State == zab.Leading && n.status.Phase != zab.Broadcast && e.peer != nil &&
						e.watcher.newLeader {
						link = e
					}
				}
			}
			return link != nil
		})
		peer, begin := link.peer, s.now
		require.Nil(t, s.guard(func() { s.net.down(link); s.net.down(peer) }))
		s.written(t)
		longest = max(longest, s.now-begin)
		require.Less(t, s.now-begin, int64(25_000), "seed %d: initLimit is 40000 units", seed)
	}
	t.Logf("at most %.1f ms", float64(longest)/100)
}

// forgetful is an ensemble of a server that speaks as ZooKeeper does, two others and an observer. The first server has
// led, and the other two have lost their disks under it, one after the other. The third has led then, with an
// identity that it has drawn, because no voter knew the former one; the first is down.
func forgetful(t *testing.T, seed uint64, observerIsAway bool) *Sim {
	s := calm(t, seed, 3, 1)
	plain, second, third, observer := s.node(1), s.node(2), s.node(3), s.node(4)
	s.until(t, "the observer", func() bool { return observer.disk.lineage != nil && observer.disk.lineage.Final })
	plain.crash()
	plain.plain = true
	plain.start()
	s.until(t, "everybody", func() bool { return s.united() != nil })
	leads := func(n *node) {
		s.until(t, "a leader", func() bool { return n.status.State == zab.Leading && n.status.Serving })
		s.written(t)
	}
	second.crash()
	leads(third)
	if observerIsAway {
		observer.crash()
	}
	third.crash() // the plain server has more than the second one, and leads
	second.start()
	leads(plain)
	for _, n := range []*node{third, second} {
		n.crash()
		n.wipe()
		n.start()
		s.until(t, "its return", func() bool { return n.status.Serving && lastOf(n.state) == lastOf(plain.state) })
	}
	plain.crash()
	leads(third)
	return s
}

// An observer that knew the former identity, and has followed all the time, is no stranger to those with another one.
func TestIdentityIsLostUnderAPlainLeader(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		s := forgetful(t, seed, false)
		s.node(1).start()
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		for _, n := range s.nodes[1:] {
			require.True(t, n.disk.lineage.Final, "seed %d", seed)
			require.Equal(t, s.node(3).disk.lineage.Ensemble, n.disk.lineage.Ensemble, "seed %d", seed)
		}
	}
}

// One that was away all the time cannot tell whether this is its ensemble. It stays outside with its files as they
// are, and says so, until an operator has given up its directory.
func TestIdentityIsLostWhileAServerIsAway(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		s := forgetful(t, seed, true)
		observer := s.node(4)
		former, print := observer.disk.lineage, observer.disk.print()
		observer.start()
		s.node(1).start()
		s.until(t, "its reason", func() bool { return observer.status.Outside != nil })
		s.written(t)
		require.Nil(t, observer.disk.lineage.Differs(former), "seed %d", seed)
		require.Equal(t, print, observer.disk.print(), "seed %d", seed)
		strangers := observer.core.Strangers()
		require.NotEmpty(t, strangers, "seed %d", seed)
		for _, o := range strangers {
			require.True(t, o.Unproven, "seed %d", seed)
			require.Contains(t, o.Reason, "unless ZooKeeper servers have led")
		}
		observer.crash()
		observer.wipe()
		observer.start()
		s.until(t, "everybody", func() bool { return s.united() != nil })
		s.written(t)
		s.until(t, "everybody", func() bool { return s.united() != nil })
		require.Equal(t, s.node(3).disk.lineage.Ensemble, observer.disk.lineage.Ensemble, "seed %d", seed)
		require.NotEqual(t, former.Ensemble, observer.disk.lineage.Ensemble, "seed %d: none was drawn anew", seed)
	}
}
