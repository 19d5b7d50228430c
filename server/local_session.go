package server

import (
	"math"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// Local sessions are known to one member only: no txn begins or ends them, and they may not own ephemerals, unless they are made
// global first. They are what a read-only member has, and new sessions everywhere with localSessionsEnabled. Source:
// server-semantics 7.6.

// keepsLocal reports whether a new session is local.
func (s *Server) keepsLocal() bool {
	return s.member != nil && (s.cfg.LocalSessionsEnabled || s.readOnly.Load())
}

// beginLocal gives a client a local session.
func (c *conn) beginLocal(req *proto.ConnectRequest, timeoutMs int32) {
	s := c.srv.tracker.create(timeoutMs, c)
	c.srv.tracker.makeLocal(s)
	c.knowsReadOnly = req.HasReadOnly
	c.resumed(s, nil, timeoutMs)
	c.account()
}

// makeLocal makes a new session local: this server alone decides when it expires.
func (t *tracker) makeLocal(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.local.Store(true)
	t.place(s)
}

// makeGlobal notes that a local session has become one that every server knows.
func (t *tracker) makeGlobal(id proto.SessionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.mu.sessions[id]; s != nil && s.local.Load() {
		s.local.Store(false)
		if t.mu.learns {
			delete(t.mu.buckets[s.bucket], s)
		}
	}
}

// isLocal reports whether a session is not global, as far as this leader can know.
func (t *tracker) isLocal(id proto.SessionID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	return s == nil || s.local.Load()
}

// resumeLocal is resume for a local session; s is nil if it is none, or is not known here.
func (t *tracker) resumeLocal(id proto.SessionID, timeoutMs int32, c *conn) (s *session, old *conn) {
	t.mu.Lock()
	known := t.mu.sessions[id]
	t.mu.Unlock()
	if known == nil || !known.local.Load() {
		return nil, nil
	}
	return t.resume(id, timeoutMs, c)
}

// localEnd is the answer to the end of a local session, which needs no txn.
func localEnd(r *request, received int64) item {
	return item{conn: r.conn, session: r.session, received: received, xid: r.xid, op: r.op}
}

// endsLocally reports whether r ends a local session.
func endsLocally(r *request) bool {
	return r.op == proto.OpCloseSession && r.session != nil && r.session.local.Load()
}

// mustUpgrade reports whether a write of a local session needs a global one.
func mustUpgrade(local *session, op proto.OpCode, body []byte) bool {
	return local != nil && local.local.Load() && datatree.CreatesEphemeral(op, body)
}

// readOnlyAfter is how long a member looks for a leader, at least, before it serves read-only clients.
const readOnlyAfter = 2 * time.Second

// readingOnly is the role of a member that has been without a leader for a while: it answers reads of clients that have asked for no
// more. Owned by the node goroutine. Source: quorum-protocol 12.3.
type readingOnly struct {
	none // what a serving member hears of others
	m    *member
}

// request implements role: whatever comes this way is a write, or the end of a local session.
func (r *readingOnly) request(b *batch, q *request) bool {
	r.m.release(q)
	if q.session == nil {
		return true // the server's own
	}
	it := localEnd(q, b.received)
	if !endsLocally(q) {
		it.err = proto.ErrNotReadOnly
	}
	r.m.answer(it)
	return true
}

// resume implements role: a global session must not be renewed where nobody can tell whether it lives.
func (r *readingOnly) resume(q *resumption) { q.conn.abort() }

// end implements role.
func (r *readingOnly) end() { r.m.srv.tracker.follow() }

// maybeReadOnly begins to serve read-only clients if it is time.
func (m *member) maybeReadOnly(now time.Time) {
	if !m.srv.cfg.ReadOnlyMode || m.role != nil || m.status.Leader >= 0 || now.Sub(m.lookedAt) < max(readOnlyAfter, m.srv.cfg.TickTime) {
		return
	}
	m.generation.Add(1)
	m.srv.tracker.follow()
	m.role = &readingOnly{m: m}
	m.srv.readOnly.Store(true)
	m.srv.lease.Store(math.MaxInt64) // its sessions are its own
	m.srv.serving.Store(true)
	m.srv.log.Warn("no leader for a while: serving read-only clients only")
}
