package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// A leader takes a session that it does not know for a local one of the learner, but not if the learner says that
// every server knows it: then it has ended.
func TestEndedSessionIsNoLocalOne(t *testing.T) {
	l := &leading{m: leased(t, 1, 1, 2, 3)}
	l.m.Config.LocalSessionsEnabled = true
	const link, id = 5, proto.SessionID(2 << 56)
	w := write{link: link, session: id, op: proto.OpSetData}
	require.Equal(t, proto.OK, l.checkSession(&w), "a local session")
	w.global = true
	require.Equal(t, proto.ErrSessionExpired, l.checkSession(&w))
	l.m.Tracker.Track(id, 10_000, link, 0)
	require.Equal(t, proto.OK, l.checkSession(&w))
	l.m.Tracker.Remove(id)
	require.Equal(t, proto.ErrSessionExpired, l.checkSession(&w))
}

// The end of a local session needs no txn, and waits behind a sync of its session all the same.
func TestEndOfALocalSessionKeepsItsPlace(t *testing.T) {
	l := &leading{m: leased(t, 1, 1, 2, 3), held: map[syncKey]*flow.FIFO[write]{}}
	s := l.m.Tracker.Create(10_000, &client{}, 0)
	l.m.Tracker.MakeLocal(s)
	q := &flow.FIFO[write]{}
	q.Push(write{session: s.ID, local: s, op: proto.OpSync})
	l.held[syncKey{session: s.ID}] = q
	l.locked = true // for the state, which this request does not need
	b := &flow.Batch{}
	require.True(t, l.request(b, &flow.Request{Session: s, Op: proto.OpCloseSession}))
	require.Equal(t, 2, q.Len(), "it waits")
}
