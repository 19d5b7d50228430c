package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

func TestAckTime(t *testing.T) {
	txns := func(first, last uint32) (all []zab.Txn) {
		for n := first; n <= last; n++ {
			h := proto.TxnHeader{Zxid: proto.MakeZxid(2, n), Time: int64(1000 + n)}
			all = append(all, zab.Txn{Zxid: h.Zxid, Payload: h.AppendTo(nil)})
		}
		return all
	}
	a := ackTime{every: 10}
	measured := func(id proto.ServerID, counter uint32, now int64) int64 {
		ms, ok := a.acknowledged(id, proto.MakeZxid(2, counter), now)
		if !ok {
			return -1
		}
		return ms
	}
	a.Proposed(txns(1, 9))
	require.EqualValues(t, -1, measured(1, 9, 2000))
	a.Proposed(txns(10, 10))
	require.EqualValues(t, -1, measured(1, 9, 2000), "of an earlier one")
	require.EqualValues(t, 5, measured(1, 10, 1015))
	require.EqualValues(t, -1, measured(1, 11, 1016), "once")
	require.EqualValues(t, 7, measured(2, 14, 1017), "of later ones, and of all before them")
	a.Proposed(txns(11, 45))
	require.EqualValues(t, 0, measured(2, 40, 1039), "a clock that was set back; the last of several")
	a.Proposed(txns(46, 49))
	require.EqualValues(t, 3, measured(1, 49, 1043), "nothing new")
}
