package sim

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Commit safety: when a txn is first delivered, a quorum of the voters has it on the disk, or had it on one that was
// lost.
func (s *Sim) checkCommitted(n *node, i int, t zab.Txn) {
	have := s.holders(i, t)
	if s.opts.Lists {
		if !s.lists.decides(n, have...) {
			s.fail("CommitSafety", "server %d delivers %v, but only %v have it", n.id, t.Zxid, have)
		}
		return
	}
	if !s.inForce(i).Quorum.Decides(have...) {
		s.fail("CommitSafety", "server %d delivers %v, but only %v have it", n.id, t.Zxid, have)
	}
	if e, _ := (roster{}).Proposed(t); e != nil && s.opts.Reconfig && !e.Quorum.Decides(have...) {
		s.fail("CommitSafety", "server %d delivers the configuration %s at %v, but only %v have it", n.id,
			e.Text, t.Zxid, have)
	}
}

// Memory is never ahead of the disk.
func (s *Sim) checkMemory(n *node, t zab.Txn) {
	i := len(n.state)
	if i >= len(n.disk.history) || n.disk.history[i].Zxid != t.Zxid {
		s.fail("Memory", "server %d delivers %v, which its disk does not have", n.id, t.Zxid)
	}
}

// Durability: every write that was acknowledged is in the global order, and at the end on every server.
func (s *Sim) checkAcked() {
	at := map[proto.Zxid]string{}
	for _, t := range s.order {
		at[t.Zxid] = string(t.Payload)
	}
	for _, t := range s.load.ackedAt {
		if at[t.Zxid] != string(t.Payload) {
			s.fail("Durability", "the write %x was acknowledged at %v, where %x is now", t.Payload, t.Zxid, at[t.Zxid])
		}
	}
}
