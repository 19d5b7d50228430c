package host

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// The entry for a full disk may be anywhere among the touched sessions of PING. It touches no session.
func TestNoRoomStandsAmongTouchedSessions(t *testing.T) {
	touch := func(id proto.SessionID) []byte { return proto.AppendInt32(proto.AppendInt64(nil, int64(id)), 30_000) }
	require.False(t, saysNoRoom(nil))
	require.False(t, saysNoRoom([]byte{}))
	require.False(t, saysNoRoom(append(touch(1), touch(256)...)))
	require.True(t, saysNoRoom(noRoom[:]))
	require.True(t, saysNoRoom(append(touch(7), noRoom[:]...)))
	require.True(t, saysNoRoom(append(noRoom[:], touch(-1)...)))
	require.False(t, saysNoRoom(noRoom[1:]), "not a whole entry")
}

// The priority is found among the sessions that the answer to a PING reports, and is not taken for one of the other
// entries.
func TestPriorityInPing(t *testing.T) {
	touched := proto.AppendInt32(proto.AppendInt64(nil, 0x100000000000007), 4000)
	priority := proto.AppendInt32(proto.AppendInt64(nil, 5), priorityMark)
	for _, c := range []struct {
		data   []byte
		want   int64
		noRoom bool
	}{
		{nil, 0, false}, {touched, 0, false}, {priority, 5, false}, {slices.Concat(touched, priority), 5, false},
		{slices.Concat(touched, noRoom[:], priority), 5, true}, {priority[:11], 0, false},
	} {
		require.Equal(t, c.want, saysPriority(c.data))
		require.Equal(t, c.noRoom, saysNoRoom(c.data))
		require.Zero(t, saysArrived(c.data))
	}
}

func FuzzPriorityInPing(f *testing.F) {
	f.Add(proto.AppendInt32(proto.AppendInt64(nil, 5), priorityMark))
	f.Fuzz(func(t *testing.T, data []byte) { _ = saysPriority(data) })
}
