package sim

import "github.com/seed94657493/warren/zab"

// Primary integrity and leader completeness: a leader begins with a history that has all that was ever delivered of
// earlier epochs; and nothing of an earlier epoch is delivered later that it did not have.
func (s *Sim) checkPrimaryIntegrity(n *node) {
	history := n.disk.history
	for i := range s.order {
		if s.order[i].Zxid.Epoch() >= n.status.Epoch {
			break // a later leader was faster; this one can commit nothing
		}
		if i >= len(history) {
			s.fail("PrimaryIntegrity", "leader %d of epoch %d has %d txns, but %v was delivered", n.id, n.status.Epoch,
				len(history), s.order[i].Zxid)
		}
		if history[i].Zxid != s.order[i].Zxid || string(history[i].Payload) != string(s.order[i].Payload) {
			s.fail("PrimaryIntegrity", "leader %d of epoch %d has %v where %v was delivered", n.id, n.status.Epoch,
				history[i].Zxid, s.order[i].Zxid)
		}
	}
	if n.status.Epoch > s.newest {
		s.newest, s.adopted = n.status.Epoch, history[:len(history):len(history)]
	}
}

// checkLate looks at a txn that is about to join the global order.
func (s *Sim) checkLate(n *node, t zab.Txn) {
	if t.Zxid.Epoch() >= s.newest {
		return
	}
	i := len(s.order)
	if i >= len(s.adopted) || s.adopted[i].Zxid != t.Zxid || string(s.adopted[i].Payload) != string(t.Payload) {
		s.fail("PrimaryIntegrity", "server %d delivers %v, which the leader of epoch %d does not have",
			n.id, t.Zxid, s.newest)
	}
}
