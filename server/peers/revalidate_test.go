package peers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// A learner recognizes which of its questions a leader answers, whether that is Warren or in Java. A leader of an
// earlier version does not say it.
func TestRevalidated(t *testing.T) {
	ask := AskRevalidate(5, 3000, 7)
	require.NoError(t, ask.check())
	require.EqualValues(t, 7, ask.Zxid)
	a := Revalidated{Session: 5, Valid: true, Proposed: 0x300000009, Question: 7}
	require.Equal(t, a, DecodeRevalidated(a.Packet(), true))
	java := a.JavaPacket(ask.Zxid)
	require.Len(t, java.Data, 9)
	require.Equal(t, Revalidated{Session: 5, Valid: true, Proposed: -1, Question: 7}, DecodeRevalidated(java, false))
	a.Question = 0
	require.Len(t, a.Packet().Data, 9)
	require.Equal(t, a, DecodeRevalidated(a.Packet(), true))
	require.Equal(t, Revalidated{Session: 5, Proposed: -1},
		DecodeRevalidated((&Revalidated{Session: 5}).JavaPacket(-1), false))
	hostile := a.Packet()
	hostile.Data = proto.AppendInt64(hostile.Data, -1)
	require.Zero(t, DecodeRevalidated(hostile, true).Question)
}
