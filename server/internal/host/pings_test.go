package host

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
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

// A learner does not go through its sessions for each PING of a sync. What it does not report does not count: its
// lease runs from the last report.
func TestPingsOfSyncsReportNoSessions(t *testing.T) {
	m := leased(t, 2, 1, 2, 3)
	m.Config.TickTime = time.Minute
	leader := &link{Link: &peers.Link{ID: 9, Peer: 1, Dialled: true}, warren: true}
	below := &link{Link: &peers.Link{ID: 8, Peer: 4}, warren: true, exchange: &lease.Exchange{}}
	m.links.open[8], m.role = below, &following{Env: m.Env, h: m}
	arrived := func(n uint64) { m.pinged(leader, &peers.Packet{Data: appendMarked(nil, n, arrivedMark)}) }
	below.exchange.Sent(1)
	below.exchange.Answered()
	m.Tracker.Adopt(7, 4000, &client{}, m.Clock.Now())
	require.NotEmpty(t, m.pong(leader, &zab.Message{}).Data)
	reported := m.Clock.Now()
	m.Tracker.Adopt(8, 4000, &client{}, reported)
	below.exchange.Sent(2)
	below.exchange.Answered()
	p := m.pong(leader, &zab.Message{})
	require.NotNil(t, p.Data)
	require.Empty(t, p.Data)
	arrived(2)
	require.LessOrEqual(t, from(m), reported)
	require.EqualValues(t, 1, below.exchange.Told())

	leader.touched -= int64(time.Minute / reportsPerTick)
	require.Equal(t, proto.AppendInt32(proto.AppendInt64(nil, 8), 4000), m.pong(leader, &zab.Message{}).Data)
	arrived(3)
	require.Greater(t, from(m), reported)
	require.EqualValues(t, 2, below.exchange.Told())
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
