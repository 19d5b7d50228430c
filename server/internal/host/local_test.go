package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/syncs"
)

// A leader takes a session that it does not know for a local one of the learner, but not if the learner says that
// every server knows it: then it has ended.
func TestEndedSessionIsNoLocalOne(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m}
	l.h.Config.LocalSessionsEnabled = true
	const link, id = 5, proto.SessionID(2 << 56)
	w := write{link: link, session: id, op: proto.OpSetData}
	require.Equal(t, proto.OK, l.checkSession(&w), "a local session")
	w.global = true
	require.Equal(t, proto.ErrSessionExpired, l.checkSession(&w))
	l.h.Tracker.Track(id, 10_000, link, 0)
	require.Equal(t, proto.OK, l.checkSession(&w))
	l.h.Tracker.Remove(id)
	require.Equal(t, proto.ErrSessionExpired, l.checkSession(&w))
}

// The end of a local session needs no txn, and waits behind a sync of its session all the same.
func TestEndOfALocalSessionKeepsItsPlace(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m, refused: true} // the core is not asked
	l.syncs = syncs.New(l.needs())
	s := l.h.Tracker.Create(10_000, &client{}, 0)
	l.h.Tracker.MakeLocal(s)
	l.take(&write{session: s.ID, local: s, op: proto.OpSync})
	l.refused = false
	l.locked = true // for the state, which this request does not need
	b := &flow.Batch{}
	require.True(t, l.request(b, &flow.Request{Session: s, Op: proto.OpCloseSession}))
	waiting := 0
	l.syncs.Behind(s.ID, func(*write) { waiting++ })
	require.Equal(t, 1, waiting)
}
