package sim

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Known: a server that serves has noted that its epoch was established; when it ceases to serve, that what it has
// delivered is committed; and it never knows less than before. By that it tells later that another history lacks
// something.
func (s *Sim) checkKnown(n *node, out *zab.Output) {
	before := n.lineage
	for i := range out.Persist {
		for _, l := range []*zab.Lineage{out.Persist[i].Interim, out.Persist[i].Lineage} {
			if l != nil {
				n.lineage = l
				s.identity(l)
			}
		}
	}
	if out.Lineage != nil {
		n.lineage = out.Lineage
	}
	known := n.lineage.Settled
	switch {
	case known < before.Settled:
		s.fail("Known", "server %d forgets that all up to %v is committed, and knows %v", n.id, before.Settled, known)
	case out.Status.Serving && known < proto.MakeZxid(out.Status.Epoch, 0):
		s.fail("Known", "server %d serves epoch %d, and knows only that %v is committed", n.id,
			out.Status.Epoch, known)
	case n.status.Serving && !out.Status.Serving && known < lastOf(n.state):
		s.fail("Known", "server %d has delivered %v, and knows only that %v is committed", n.id,
			lastOf(n.state), known)
	}
}
