package sessions

import "github.com/seed94657493/warren/proto"

// Local sessions are known to one member only: no txn begins or ends them. They may not own ephemerals unless
// they are made global first. Source: server-semantics 7.6.

// MakeLocal makes a new session local: this server alone decides when it expires.
func (t *Tracker) MakeLocal(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.local.Store(true)
	t.place(s)
}

// MakeGlobal notes that a local session has become one that every server knows.
func (t *Tracker) MakeGlobal(id proto.SessionID) {
	t.at(id, func(s *Session) {
		if s.local.Swap(false) && t.mu.learns {
			delete(t.mu.buckets[s.bucket], s)
		}
	})
}

// IsLocal reports whether a session is not global, as far as this leader knows.
func (t *Tracker) IsLocal(id proto.SessionID) bool {
	s := t.find(id)
	return s == nil || s.local.Load()
}

// HasLocal reports whether a session is a local one of this server, which has not ended.
func (t *Tracker) HasLocal(id proto.SessionID) bool {
	s := t.find(id)
	return s != nil && s.local.Load()
}

// ResumeLocal is Resume for a local session. It returns nil if the session is not local, or not known to this
// server.
func (t *Tracker) ResumeLocal(id proto.SessionID, timeoutMs int32, c Conn, now int64) (s *Session, old Conn) {
	if !t.HasLocal(id) {
		return nil, nil
	}
	return t.Resume(id, timeoutMs, c, now)
}

// Locals returns how many local sessions there are.
func (t *Tracker) Locals() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.mu.sessions {
		if s.local.Load() {
			n++
		}
	}
	return n
}
