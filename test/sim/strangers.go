package sim

// Strangers: a server takes another one for a member of another history only if a disk was replaced by a different
// one. Crashes, lost disks and changes of the ensemble alone never part two histories. Source: adr 0012.
func (s *Sim) checkStrangers(n *node) {
	if s.world != nil {
		return
	}
	for _, o := range n.core.Strangers() {
		if !o.Ahead {
			s.fail("Strangers", "server %d takes server %d for a stranger: %s\nits own: %v\ntheirs: %s", n.id, o.ID,
				o.Reason, n.disk.lineage, o.Theirs)
		}
	}
}
