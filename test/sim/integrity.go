package sim

import "github.com/seed94657493/warren/zab"

// broadcasts notes that a leader has taken a txn from a client.
func (s *Sim) broadcasts(n *node, t zab.Txn) {
	if s.world != nil {
		s.world.origin[string(t.Payload)] = n.run
		n.run.history = append(n.run.history, t)
	} else if _, before := s.said[t.Zxid]; before && s.leaders[t.Zxid.Epoch()] != n.id {
		s.fail("Leadership", "server %d proposes %v, which another leader has proposed", n.id, t.Zxid)
	}
	if t.Zxid.Counter() >= s.limits.CounterMax {
		s.fail("Counter", "server %d proposes %v: the counter ends at %#x", n.id, t.Zxid, s.limits.CounterMax)
	}
	s.said[t.Zxid] = string(t.Payload)
}

// Integrity: only what a leader has broadcast is delivered, with the content it had. The barrier of R7 has its own
// content.
func (s *Sim) checkIntegrity(n *node, t zab.Txn) {
	said, ok := s.said[t.Zxid]
	if !ok && t.Zxid.Counter() == 1 {
		return // a barrier, which the core asks for by itself
	}
	if !ok || said != string(t.Payload) {
		s.fail("Integrity", "server %d delivers %v %x, which no leader has broadcast", n.id, t.Zxid, t.Payload)
	}
}
