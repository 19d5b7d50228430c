package sim

import (
	"errors"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// handOver asks a server to hand over, and propose to propose.
func (n *node) handOver(stop bool) {
	n.handing = n.handing || n.status.State == zab.Leading
	n.core.HandOver(stop)
}

// handOverTo asks a server to hand over to a named one. It reports whether the server does.
func (n *node) handOverTo(id proto.ServerID) bool {
	err := n.core.HandOverTo(id, false)
	n.handing = n.handing || err == nil
	return err == nil
}

func (n *node) propose(txns ...zab.Txn) error {
	err := n.core.Propose(txns...)
	n.handing = n.handing || errors.Is(err, zab.ErrEpochExhausted)
	return err
}

// Stays: a leader that serves hands over only if its host asks for that, or its counter has reached the end. That
// some server has promised, or adopted, a later epoch is no reason: a quorum follows this leader.
func (s *Sim) checkStays(n *node, out *zab.Output) {
	if n.status.State != zab.Leading || n.handing {
		return
	}
	if slices.ContainsFunc(out.Send, func(m zab.Message) bool { return m.Type == zab.HandOver }) {
		s.fail("Stays", "leader %d of epoch %d hands over, and was not asked to", n.id, n.status.Epoch)
	}
}
