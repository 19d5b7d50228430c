package past

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func (r *rig) below(parent string, most Limits) *Moves {
	m := must.Do(Below(context.Background(), r.dirs(), parent, most))(r.t)
	return m
}

// nothing is the body of a txn that has none.
type nothing struct{}

func (nothing) AppendTo(b []byte) []byte { return b }

func TestMoves(t *testing.T) {
	r := newRig(t)
	enter := func(session proto.SessionID, path, data string) {
		r.add(session, proto.OpCreate, &proto.CreateTxn{Path: text(path), Data: []byte(data), Ephemeral: true})
	}
	r.add(1, proto.OpCreate, &proto.CreateTxn{Path: text("/e")})
	enter(7, "/e/n-1", "a long text")
	enter(8, "/e/n-2", "")
	enter(8, "/elsewhere", "/e/n-9")
	require.NoError(t, r.log.Roll())
	r.add(8, proto.OpSetData, &proto.SetDataTxn{Path: text("/e/n-2"), Data: []byte("x"), Version: 1})
	r.add(7, proto.OpCreate, &proto.CreateTxn{Path: text("/e/n-1/below")})
	enter(9, "/e/n-3", "c")
	sub := proto.DeleteTxn{Path: text("/e/n-1")}
	r.add(7, proto.OpMulti, &proto.MultiTxn{Txns: []proto.SubTxn{{Type: proto.OpDelete, Data: sub.AppendTo(nil)}}})
	r.add(8, proto.OpCloseSession,
		&proto.CloseSessionTxn{Paths2Delete: []proto.Text{text("/elsewhere"), text("/e/n-2")}})
	r.add(9, proto.OpCloseSession, nothing{}) // as servers before 3.6 wrote it

	m := r.below("/e", Limits{Bytes: 1 << 30, Time: time.Minute, Versions: 100, Data: 6})
	var got []string
	for _, one := range m.All {
		require.EqualValues(t, 1000*int64(one.Zxid), one.Time)
		got = append(got, fmt.Sprintf("%s %v %d %d %s %d", one.Name, one.Gone, int64(one.Zxid), int64(one.Session),
			one.Data, one.Size))
	}
	require.Equal(t, []string{"n-3 true 10 9  0", "n-2 true 9 8  0", "n-1 true 8 0  0", "n-3 false 7 9 c 1",
		"n-2 false 3 8  0", "n-1 false 2 7 a long 11"}, got)
	require.EqualValues(t, 1, m.From)
	require.False(t, m.Cut)
	require.Len(t, r.below("/", usual).All, 3, "children of the root: /e, /elsewhere, and the end of the latter")
}

func TestMovesAreBounded(t *testing.T) {
	r := newRig(t)
	for i := range 100 {
		if i%40 == 0 {
			require.NoError(t, r.log.Roll())
		}
		r.add(7, proto.OpCreate, &proto.CreateTxn{Path: text(fmt.Sprint("/e/n-", i))})
	}
	for _, most := range []int{5, 30, 90} {
		limits := usual
		limits.Versions = most
		m := r.below("/e", limits)
		require.True(t, m.Cut, most)
		require.Len(t, m.All, most)
		require.Equal(t, "n-99", m.All[0].Name)
		require.Equal(t, m.All[most-1].Zxid, m.From)
	}
	require.False(t, r.below("/e", usual).Cut)
}

// A txn of which only some moves are listed is not among those that were looked at.
func TestMovesOfOneTxnAreCut(t *testing.T) {
	r := newRig(t)
	for i := range 10 {
		var txns []proto.SubTxn
		for k := range 3 {
			sub := proto.CreateTxn{Path: text(fmt.Sprintf("/e/n-%d-%d", i, k))}
			txns = append(txns, proto.SubTxn{Type: proto.OpCreate, Data: sub.AppendTo(nil)})
		}
		if i == 5 {
			require.NoError(t, r.log.Roll())
		}
		r.add(7, proto.OpMulti, &proto.MultiTxn{Txns: txns})
	}
	for most, from := range map[int]int64{1: 11, 3: 10, 4: 10, 7: 9, 16: 6, 18: 5} {
		limits := usual
		limits.Versions = most
		m := r.below("/e", limits)
		require.True(t, m.Cut)
		require.Len(t, m.All, most)
		require.EqualValues(t, from, m.From, most)
	}
}
