package host

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// ackTime measures how long learners take to acknowledge a txn, for one txn of leader.ackLoggingFrequency. Owned by the node goroutine.
type ackTime struct {
	every uint32           // txns from one to the next
	zxid  proto.Zxid       // that is being measured, 0 if none is
	from  int64            // when it was made, ms since 1970
	have  []proto.ServerID // who has acknowledged it
}

// Proposed takes note of the last of txns that is to be measured.
func (a *ackTime) Proposed(txns []zab.Txn) {
	first, last := txns[0].Zxid.Counter(), txns[len(txns)-1].Zxid.Counter()
	nth := last - last%a.every
	if nth < first || nth == 0 {
		return
	}
	t := &txns[nth-first]
	a.zxid, a.from, a.have = t.Zxid, flow.TxnTime(t.Payload), a.have[:0]
}

// acknowledged returns how many ms id took, if that is measured by its ACK of z, and of all before it.
func (a *ackTime) acknowledged(id proto.ServerID, z proto.Zxid, now int64) (ms int64, ok bool) {
	if a.zxid == 0 || z < a.zxid || slices.Contains(a.have, id) {
		return 0, false
	}
	a.have = append(a.have, id)
	return max(now-a.from, 0), true
}
