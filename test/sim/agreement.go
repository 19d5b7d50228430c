package sim

import "github.com/seed94657493/warren/zab"

// Agreement and total order: of what two servers have delivered, one is a prefix of the other, with the same content.
func (s *Sim) checkAgreement(n *node, want, got zab.Txn) {
	if want.Zxid != got.Zxid || string(want.Payload) != string(got.Payload) {
		s.fail("Agreement", "server %d has %v %x where another has %v %x", n.id, got.Zxid, got.Payload,
			want.Zxid, want.Payload)
	}
}
