package host

import (
	"time"

	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// A read-only server has only local sessions: see local.go of package sessions. With localSessionsEnabled every new
// session is local.

// localEnd is the answer to the end of a local session, which needs no txn.
func localEnd(r *flow.Request, received int64) flow.Item {
	return flow.Item{Client: r.Client, Session: r.Session, Received: received, Xid: r.Xid, Op: r.Op}
}

// endsLocally reports whether r ends a local session.
func endsLocally(r *flow.Request) bool {
	return r.Op == proto.OpCloseSession && r.Session != nil && r.Session.IsLocal()
}

// mustUpgrade reports whether a write of a local session needs a global one.
func mustUpgrade(local *sessions.Session, op proto.OpCode, body []byte) bool {
	return local != nil && local.IsLocal() && prepare.CreatesEphemeral(op, body)
}

// readOnlyAfter is how long a server searches for a leader, at least, before it serves read-only clients.
const readOnlyAfter = 2 * time.Second

// readingOnly is the role of a server that has been without a leader for a while. It answers reads of clients that
// have asked for a read-only connection. Owned by the host goroutine. Source: quorum-protocol 12.3.
type readingOnly struct {
	noRole
	h *Host
}

// request implements role. A request that arrives here is a write, or the end of a local session.
func (r *readingOnly) request(b *flow.Batch, q *flow.Request) bool {
	r.h.release(q)
	if q.Session == nil {
		return true // the server's own request
	}
	it := localEnd(q, b.Received)
	if !endsLocally(q) {
		it.Err = proto.ErrNotReadOnly
	}
	r.h.answer(it)
	return true
}

// resume implements role. A global session must not be resumed here, because only a leader can tell whether it
// lives.
func (r *readingOnly) resume(q *flow.Resumption) { q.Client.Abort() }

// end implements role.
func (r *readingOnly) end() { r.h.Tracker.Follow() }

// maybeReadOnly begins to serve read-only clients when it is time. A server that stays outside the ensemble serves
// no client, because its history differs from that of the ensemble.
func (h *Host) maybeReadOnly(now time.Time) {
	if !h.Config.ReadOnlyMode || h.role != nil || h.status.Leader >= 0 || h.status.Outside != nil ||
		now.Sub(h.periods.looked) < max(readOnlyAfter, h.Config.TickTime) {
		return
	}
	h.keeping.drop()
	h.generation.Add(1)
	h.Tracker.Follow()
	// A state that was loaded again, or is old, may not have the configuration.
	setConfig(h.Env, h.Membership(), true)
	h.role = &readingOnly{h: h}
	h.ReadOnly.Store(true)
	h.lease.Free()
	h.Doors.Open()
	h.Log.Warn("no leader found: serving read-only clients only")
}
