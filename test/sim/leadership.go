package sim

// Leadership: an epoch has at most one leader.
func (s *Sim) checkLeadership(n *node) {
	e := n.status.Epoch
	if other, ok := s.leaders[e]; ok {
		s.fail("Leadership", "server %d is established in epoch %d, which server %d was before", n.id, e, other)
	}
	s.leaders[e] = n.id
}
