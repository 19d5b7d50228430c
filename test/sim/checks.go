package sim

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// checks holds what the checkers have to remember.
type checks struct {
	order   []zab.Txn // all that was ever served by anyone, in order
	said    map[proto.Zxid]string
	leaders map[int64]proto.ServerID // by epoch
	decided map[int64]proto.ServerID // the leader that has decided the history of an epoch
	newest  int64                    // newest established epoch
	adopted []zab.Txn                // the history that its leader began with
	configs []placed                 // the reconfigurations of order

	identities map[uint64]bool // of the ensemble, that servers have ever been asked to keep
}

func (c *checks) init(*Sim) {
	c.said, c.identities = map[proto.Zxid]string{}, map[uint64]bool{}
	c.leaders, c.decided = map[int64]proto.ServerID{}, map[int64]proto.ServerID{}
}

// describe is a message in a trace.
func describe(m *zab.Message) said { return said{m} }

// said is written out only where a trace is kept: hardly a message is ever read.
type said struct{ m *zab.Message }

func (s said) String() string {
	m, link := s.m, ""
	if m.Link != 0 {
		link = fmt.Sprintf(" link %d", m.Link)
	}
	switch m.Type {
	case zab.Notification:
		return fmt.Sprintf("%v %v for %d (%d, %v) round %d", m.Type, m.State, m.Vote.Leader, m.Vote.Epoch,
			m.Vote.Zxid, m.Round)
	case zab.Proposal, zab.Inform:
		return fmt.Sprintf("%v %v..%v%s", m.Type, m.Txns[0].Zxid, m.Txns[len(m.Txns)-1].Zxid, link)
	case zab.Activate, zab.InformActive:
		return fmt.Sprintf("%v %v, %d leads%s", m.Type, m.Zxid, m.Leader, link)
	case zab.HandOver:
		return fmt.Sprintf("%v to %d%s", m.Type, m.Leader, link)
	}
	return fmt.Sprintf("%v epoch %d zxid %v%s", m.Type, m.Epoch, m.Zxid, link)
}

// established is called when a leader has its quorum.
func (s *Sim) established(n *node) {
	s.Stats.Epochs++
	s.moments.established(s, n)
	if s.world != nil {
		s.reigns(n)
		return
	}
	if s.opts.Lists {
		s.lists.established(s, n)
	}
	s.checkLeadership(n)
	s.checkPrimaryIntegrity(n)
}

// served is called after every input while a server serves: what it has applied must fit the global order.
func (s *Sim) served(n *node) {
	if s.world != nil {
		s.checkJoined(n)
		return
	}
	for ; n.verified < len(n.state); n.verified++ {
		t := n.state[n.verified]
		if n.verified < len(s.order) {
			s.checkAgreement(n, s.order[n.verified], t)
			continue
		}
		s.checkIntegrity(n, t)
		s.checkPrimaryOrder(n, t)
		s.checkLate(n, t)
		s.checkCommitted(n, n.verified, t)
		s.noteConfig(n.verified, t)
		s.order = append(s.order, t)
	}
}
