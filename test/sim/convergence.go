package sim

import (
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// converge waits until, with all faults gone, one leader serves, all others follow it, a new write is committed, and
// all servers have the same state. Liveness: that must happen within the time for a few elections. Where servers wait
// for the next election, there is one after that time.
func (s *Sim) converge() {
	span := 1000 * int64(s.timing.TickTime*(s.timing.InitLimit+s.timing.SyncLimit)) * 6
	healed, limit := s.now, s.now+span
	var wrote proto.Zxid
	for missing := int64(math.MaxInt64); ; {
		if s.now > limit {
			leader, epochs := s.overtaken()
			if leader == nil || epochs >= missing {
				s.fail("Convergence", "%s", s.standing())
			}
			s.tracef("%d leads in an epoch below a promise, and is restarted", leader.id)
			s.Stats.Overtaken++
			leader.crash()
			s.after(s.between(100, 2000), leader.start)
			healed, limit, missing = s.now, s.now+span, epochs
		}
		if s.now > (healed+limit)/2 {
			s.adoptUnproven()
		}
		s.step()
		leader := s.united()
		if leader == nil {
			continue
		}
		if wrote == 0 || wrote.Epoch() != leader.status.Epoch {
			z := leader.core.NextZxid()
			if s.load.write(s, leader, 1) {
				wrote = z
			}
			continue
		}
		same := true
		for _, n := range s.nodes {
			same = same && lastOf(n.state) == wrote
		}
		if same {
			break
		}
	}
	s.Stats.HealedAfter = s.now - healed
	leader := s.united()
	// such an observer master does not say which server leads
	plain := s.hasPlain()
	for _, n := range s.nodes {
		s.checkSame(n)
		if leader != nil && !plain && n.status.Leader != leader.id {
			s.fail("Convergence", "server %d takes %d for the leader, but %d leads", n.id, n.status.Leader, leader.id)
		}
	}
	s.checkAcked()
}

// overtaken returns the leader that all servers follow, except for those that have promised a later epoch, and by
// how many epochs. A Warren leader that a quorum of Warren servers follows has to begin a later epoch for a Warren
// server (zab/renewal.go). Servers that speak as Java does cannot: where the quorum needs one of them the server stays
// outside until elections have led to its epoch, as in ZooKeeper. A server without data may wait for that server, too:
// it follows a leader that a quorum of the others follow.
func (s *Sim) overtaken() (leader *node, epochs int64) {
	for _, n := range s.nodes {
		if n.up && n.status.Serving && n.status.State == zab.Leading {
			leader = n
		}
	}
	if leader == nil {
		return nil, 0
	}
	active, _ := leader.core.Ensembles()
	follows := func(n *node) bool { return n.up && n.status.Serving && n.status.Epoch == leader.status.Epoch }
	renews := !leader.plain &&
		active.Quorum.Decides(s.counted(func(n *node) bool { return !n.plain && follows(n) })...)
	for _, n := range s.nodes {
		switch {
		case follows(n):
		case n.up && n.disk.accepted > leader.status.Epoch && (n.plain || !renews):
			epochs = max(epochs, n.disk.accepted-leader.status.Epoch)
		case n.up && !n.disk.exists:
		default:
			return nil, 0
		}
	}
	return leader, epochs
}

// checkSame: when nothing is going on, every disk and every state holds the one history and nothing else.
func (s *Sim) checkSame(n *node) {
	same := func(a, b zab.Txn) bool { return a.Zxid == b.Zxid && string(a.Payload) == string(b.Payload) }
	if !slices.EqualFunc(n.state, s.order, same) {
		s.fail("Convergence", "server %d has applied %d txns up to %v, and there are %d up to %v", n.id, len(n.state),
			lastOf(n.state), len(s.order), lastOf(s.order))
	}
	if active, next := n.core.Ensembles(); s.opts.Reconfig &&
		(next != nil || len(s.configs) > 0 && active.Version != s.inForce(len(s.order)).Version) {
		s.fail("Convergence", "server %d has configuration %v", n.id, active.Version)
	}
	if !slices.EqualFunc(n.disk.history, s.order, same) {
		s.fail("Convergence", "server %d has %d txns up to %v on its disk, and there are %d up to %v", n.id,
			len(n.disk.history), lastOf(n.disk.history), len(s.order), lastOf(s.order))
	}
}

// united returns the leader that all servers follow and that serves, or nil.
func (s *Sim) united() *node {
	var leader *node
	for _, n := range s.nodes {
		if !n.up || !n.status.Serving || n.status.Epoch != s.nodes[0].status.Epoch {
			return nil
		}
		if n.status.State == zab.Leading {
			leader = n
		}
	}
	return leader
}

// standing says what each server does, for a failure.
func (s *Sim) standing() (text string) {
	text = "no convergence:"
	for _, n := range s.nodes {
		text += "\n  " + n.describe()
	}
	return text
}
