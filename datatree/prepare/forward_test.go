package prepare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestCreate2SlotsAreThoseOfThePreparer(t *testing.T) {
	l := newPipeline(t, nil)
	l.open()
	m := (&multiOf{}).
		add(proto.OpCreate, create("/a", proto.ModePersistent)).
		add(proto.OpCreate2, create("/b", proto.ModePersistent)).
		add(proto.OpSetData, set("/a", "x", -1)).
		add(proto.OpCreate2, create("/c", proto.ModeContainer)).
		add(proto.OpCheck, check("/a", 1)).
		add(proto.OpDelete, del("/a", -1)).
		add(proto.OpCreate2, create("/d", proto.ModePersistentSequential))
	body := m.AppendTo(nil)
	l.send(proto.OpMulti, body)
	require.Equal(t, []int32{1, 6}, l.p.Create2())
	require.Equal(t, []int32{1, 6}, Create2Slots(nil, body))
	for n := range body { // cut anywhere, it gives up quietly
		require.LessOrEqual(t, len(Create2Slots(nil, body[:n])), 2)
	}
}

func TestErrorTxnIsApplied(t *testing.T) {
	s := datatree.NewState(datatree.Config{})
	before := s.Digest()
	payload := AppendErrorTxn(nil,
		proto.TxnHeader{ClientID: 7, Cxid: 9, Zxid: 0x100000001, Time: 3, Type: proto.OpCreate}, proto.ErrSessionMoved)
	require.Len(t, payload, 36)
	_, applied := must.Do2(s.Apply(payload, nil, nil, true))(t)
	require.Equal(t, proto.ErrSessionMoved, applied.Err)
	require.Equal(t, proto.Zxid(0x100000001), s.LastZxid())
	require.Equal(t, before, s.Digest())
}

func TestCreatesEphemeral(t *testing.T) {
	body := create("/a", proto.ModeEphemeral).AppendTo(nil)
	require.True(t, CreatesEphemeral(proto.OpCreate, body))
	require.True(t, CreatesEphemeral(proto.OpCreate2, body))
	require.True(t, CreatesEphemeral(proto.OpCreate, create("/a", proto.ModeEphemeralSequential).AppendTo(nil)))
	require.False(t, CreatesEphemeral(proto.OpCreate, create("/a", proto.ModePersistent).AppendTo(nil)))
	require.False(t, CreatesEphemeral(proto.OpSetData, set("/a", "x", -1).AppendTo(nil)))
	multi := (&multiOf{}).add(proto.OpSetData, set("/a", "x", -1)).
		add(proto.OpCreate2, create("/b", proto.ModeEphemeral)).AppendTo(nil)
	require.True(t, CreatesEphemeral(proto.OpMulti, multi))
	for n := range len(multi) - 16 {
		_ = CreatesEphemeral(proto.OpMulti, multi[:n])
	}
	require.False(t, CreatesEphemeral(proto.OpMulti,
		(&multiOf{}).add(proto.OpCreate, create("/b", proto.ModePersistent)).AppendTo(nil)))
}
