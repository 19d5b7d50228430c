package sim

import "github.com/seed94657493/warren/zab"

// Joined: what a server serves is the history of the run that it has adopted, txn by txn, and its disk has nothing
// else. So at no time do two servers serve different txns at the same place of the same run.
func (s *Sim) checkJoined(n *node) {
	r := n.run
	if r == nil {
		s.fail("Joined", "server %d serves, but has adopted no epoch", n.id)
	}
	if n.joined != r {
		n.joined, n.verified = r, 0
		for i := range min(len(n.disk.history), len(r.history)) {
			s.compareJoined(n, r, i, n.disk.history[i], "on its disk")
		}
	}
	for ; n.verified < len(n.state); n.verified++ {
		s.compareJoined(n, r, n.verified, n.state[n.verified], "in its state")
		s.world.delivered[string(n.state[n.verified].Payload)] = true
	}
}

func (s *Sim) compareJoined(n *node, r *run, i int, t zab.Txn, where string) {
	if i >= len(r.history) {
		s.fail("Joined", "server %d has %v %x %s, but run %d of epoch %d ends with %v", n.id, t.Zxid, t.Payload, where,
			r.number, r.epoch, lastOf(r.history))
	}
	if want := r.history[i]; want.Zxid != t.Zxid || string(want.Payload) != string(t.Payload) {
		s.fail("Joined", "server %d has %v %x %s where run %d of epoch %d, led by %d, has %v %x", n.id, t.Zxid,
			t.Payload, where, r.number, r.epoch, r.leader, want.Zxid, want.Payload)
	}
}
