package sim

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// converge waits until, with all faults gone, one leader serves, everybody follows it, a new write is committed, and all servers
// have the same state. Liveness: that must happen within the time for a few elections.
func (s *Sim) converge() {
	limit := s.now + 1000*int64(s.timing.TickTime*(s.timing.InitLimit+s.timing.SyncLimit))*6
	healed := s.now
	var wrote proto.Zxid
	for {
		if s.now > limit {
			s.fail("Convergence", "%s", s.standing())
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
	s.checkAcked()
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

// standing says who does what, for a failure.
func (s *Sim) standing() (text string) {
	text = "no convergence:"
	for _, n := range s.nodes {
		text += "\n  " + n.describe()
	}
	return text
}
