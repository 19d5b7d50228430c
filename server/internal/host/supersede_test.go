package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/syncs"
	"github.com/seed94657493/warren/server/internal/serve"
)

// takingRole is a role that records the requests that it is given, as far as it has room.
type takingRole struct {
	role
	room  int
	taken []int32
	// resumed is how many requests it had been given when a session was resumed.
	resumed int
}

func (r *takingRole) request(_ *flow.Batch, q *flow.Request) bool {
	if len(r.taken) == r.room {
		return false
	}
	r.taken = append(r.taken, q.Xid)
	return true
}

func (r *takingRole) flush()                  {}
func (r *takingRole) resume(*flow.Resumption) { r.resumed = len(r.taken) }

// A session goes on with a new connection. What its earlier connections have asked for is taken before that, or not
// at all.
func TestEarlierConnectionsAreTooLate(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	m.applier = serve.NewApplyQueue(serve.New(m.Env, nil), &m.Queued, &m.Finished)
	r := &takingRole{room: 2}
	m.role = r
	older, old, other := &client{}, &client{}, &client{}
	s := m.Tracker.Create(10_000, older, 0)
	m.Tracker.Unbind(s, older)
	_, _ = m.Tracker.Resume(s.ID, 10_000, old, 0)
	elsewhere := m.Tracker.Create(10_000, other, 0)
	b := m.RequestPool.Get()
	for xid, c := range []*client{older, other, older, other} {
		q := flow.Request{Client: c, Session: s, Op: proto.OpSetData, Xid: int32(xid)}
		if c == other {
			q.Session = elsewhere
		}
		b.Add(q, nil)
	}
	m.batches.Add(b)
	m.resumeNow(&flow.Resumption{Client: &client{}, ID: s.ID})
	require.Equal(t, []int32{0, 1}, r.taken, "there is no room for more")
	require.Equal(t, 2, r.resumed)
	require.True(t, old.Superseded(), "it serves the session")
	require.True(t, older.Superseded(), "its request still waits")
	require.False(t, other.Superseded())
	r.room = 9
	m.requests()
	require.Equal(t, []int32{0, 1, 3}, r.taken)
}

// A role takes no requests of connections that were accepted before it began: what they have sent before is lost with
// the earlier role, and must not be skipped.
func TestConnectionsOfAnEarlierRoleAreTooLate(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	m.applier = serve.NewApplyQueue(serve.New(m.Env, nil), &m.Queued, &m.Finished)
	r := &takingRole{room: 9}
	m.role = r
	c := &client{}
	send := func(xid int32) {
		b := m.RequestPool.Get()
		b.Add(flow.Request{Client: c, Session: m.Tracker.Create(10_000, c, 0), Op: proto.OpSetData, Xid: xid}, nil)
		m.batches.Add(b)
		m.takeBatches()
		m.requests()
	}
	send(1)
	m.generation.Add(1)
	send(2)
	require.Equal(t, []int32{1}, r.taken)
}

// Requests that wait behind a sync are refused when the client of their session comes back. The sync is answered.
func TestHeldRequestsAreTooLate(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m, refused: true} // the core is not asked
	l.syncs = syncs.New(l.needs())
	l.h.applier = serve.NewApplyQueue(serve.New(l.h.Env, nil), &l.h.Queued, &l.h.Finished)
	for _, id := range []proto.SessionID{7, 8} {
		for _, op := range []proto.OpCode{proto.OpSync, proto.OpSetData} {
			l.take(&write{session: id, op: op})
		}
	}
	moved := func(id proto.SessionID) (all []bool) {
		l.syncs.Behind(id, func(w *write) { all = append(all, w.moved) })
		return all
	}
	l.resume(&flow.Resumption{Client: &client{}, ID: 7})
	require.Equal(t, []bool{false}, moved(7), "there is no such session here, so it stays elsewhere")
	l.h.Tracker.Track(7, 10_000, 0, 0)
	l.resume(&flow.Resumption{Client: &client{}, ID: 7})
	require.Equal(t, []bool{true}, moved(7))
	require.Equal(t, []bool{false}, moved(8))
}
