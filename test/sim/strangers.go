package sim

import (
	"slices"

	"github.com/seed94657493/warren/zab"
)

// Strangers: a server takes another one for a member of another history only if a disk was replaced by a different
// one. Crashes, lost disks and changes of the ensemble alone never part two histories. In ensembles with servers that
// keep no lineage it may be that this cannot be told, and then the server says so. Source: adr 0012; guarantees, "The
// identity of an ensemble".
func (s *Sim) checkStrangers(n *node) {
	if s.world != nil {
		return
	}
	for _, o := range n.core.Strangers() {
		if !o.Ahead && !(o.Unproven && s.hasPlain()) {
			s.fail("Strangers", "server %d takes server %d for a stranger: %s\nits own: %v\ntheirs: %s", n.id, o.ID,
				o.Reason, n.disk.lineage, o.Theirs)
		}
	}
}

// adoptUnproven does what an operator has to do for a server that stays outside only because it cannot tell whether
// the ensemble is its own: its directory is given up if another server leads.
func (s *Sim) adoptUnproven() {
	if !s.hasPlain() || !slices.ContainsFunc(s.nodes, (*node).reigns) {
		return
	}
	for _, n := range s.nodes {
		unproven := func(o zab.Stranger) bool { return o.Unproven }
		if n.up && n.status.Outside != nil && slices.ContainsFunc(n.core.Strangers(), unproven) {
			s.tracef("%d is to take what the others have", n.id)
			s.Stats.Adopted++
			n.crash()
			n.wipe()
			n.start()
		}
	}
}

// hasPlain reports whether a server speaks as Java does.
func (s *Sim) hasPlain() bool {
	return slices.ContainsFunc(s.nodes, func(n *node) bool { return n.plain })
}
