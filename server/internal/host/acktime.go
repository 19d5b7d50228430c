package host

import (
	"slices"
	"strconv"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// ackTime measures how long learners take to acknowledge a txn, for one in leader.ackLoggingFrequency txns. Owned
// by the host goroutine.
type ackTime struct {
	every uint32           // measure every that many txns
	zxid  proto.Zxid       // of the txn being measured, 0 if there is none
	from  int64            // when it was made, ms since 1970
	have  []proto.ServerID // servers that have acknowledged it
}

// Proposed begins to measure the last of txns that is due to be measured, if there is one.
func (a *ackTime) Proposed(txns []zab.Txn) {
	first, last := txns[0].Zxid.Counter(), txns[len(txns)-1].Zxid.Counter()
	nth := last - last%a.every
	if nth < first || nth == 0 {
		return
	}
	t := &txns[nth-first]
	a.zxid, a.from, a.have = t.Zxid, flow.TxnTime(t.Payload), a.have[:0]
}

// acknowledged returns how many ms server id took, if its ACK of all txns up to z covers the txn being measured and
// is the first of this server that does.
func (a *ackTime) acknowledged(id proto.ServerID, z proto.Zxid, now int64) (ms int64, ok bool) {
	if a.zxid == 0 || z < a.zxid || slices.Contains(a.have, id) {
		return 0, false
	}
	a.have = append(a.have, id)
	return max(now-a.from, 0), true
}

// proposed counts txns that were proposed.
func (l *leading) proposed(txns []zab.Txn) {
	if l.h.peers == nil {
		return
	}
	var sizes figures.SizeRange
	for i := range txns {
		sizes.Add(int64(len(txns[i].Payload)))
	}
	l.Metrics.Quorum.ProposalSize.Merge(sizes)
	l.Metrics.Quorum.Proposals.Add(int64(len(txns)))
	l.acks.Proposed(txns)
}

// acknowledged measures how long a learner took to acknowledge. z acknowledges all txns up to z, or from a learner
// in Java z alone.
func (l *leading) acknowledged(id proto.ServerID, z proto.Zxid) {
	if ms, ok := l.acks.acknowledged(id, z, l.Clock.WallMs()); ok {
		l.Metrics.Quorum.AckLatency.Of(strconv.FormatInt(int64(id), 10)).Observe(ms)
	}
}
