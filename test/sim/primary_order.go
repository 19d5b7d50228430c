package sim

import "github.com/seed94657493/warren/zab"

// Local primary order: what one leader broadcasts is delivered in that order, without a gap. Global primary order:
// what an earlier leader broadcast is delivered before what a later one did. Both are one rule on the order of zxids.
func (s *Sim) checkPrimaryOrder(n *node, t zab.Txn) {
	if k := len(s.order); k > 0 && !follows(s.order[k-1].Zxid, t.Zxid) {
		s.fail("PrimaryOrder", "server %d delivers %v after %v", n.id, t.Zxid, s.order[k-1].Zxid)
	}
}
