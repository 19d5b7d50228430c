package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// An answer that becomes no txn waits for the txns that were prepared before it, and for no more: when the next epoch
// begins meanwhile, that may be long before its first txn.
func TestAnswersWaitForNoTxnOfTheNextEpoch(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	last := proto.MakeZxid(4, 9)
	l := &leading{Env: m.Env, h: m, last: last, next: last + 1}
	l.entries.Push(entry{zxid: last, txn: true, item: flow.Item{Xid: 1}})
	l.next = proto.MakeZxid(6, 1) // as renew does
	l.between(flow.Item{Xid: 2, Err: proto.ErrNodeExists})
	h := proto.TxnHeader{Zxid: last, Type: proto.OpSetData}
	b := &flow.ApplyBatch{}
	l.deliver([]zab.Txn{{Zxid: last, Payload: h.AppendTo(nil)}}, b)
	require.Len(t, b.Items, 2)
	require.Equal(t, proto.ErrNodeExists, b.Items[1].Err)
	require.Zero(t, l.entries.Len())
}
