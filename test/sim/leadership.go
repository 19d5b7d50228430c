package sim

// Leadership: an epoch has at most one leader, and that has a quorum which has durably adopted its history.
func (s *Sim) checkLeadership(n *node) {
	e := n.status.Epoch
	if other, ok := s.leaders[e]; ok {
		s.fail("Leadership", "server %d is established in epoch %d, which server %d was before", n.id, e, other)
	}
	s.leaders[e] = n.id
	adopted := s.counted(func(o *node) bool { return o.adopted(e) })
	if e < s.newest {
		return
	}
	active, _ := n.core.Ensembles()
	if active.Version < s.inForce(len(s.order)).Version {
		s.fail("Leadership", "server %d is established in epoch %d by configuration %v, but a later one is in force",
			n.id, e, active.Version)
	}
	if !active.Quorum.Decides(adopted...) {
		s.fail("Leadership", "server %d is established in epoch %d, which only %v have adopted", n.id, e, adopted)
	}
}
