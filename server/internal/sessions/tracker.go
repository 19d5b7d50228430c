package sessions

import (
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Tracker holds the sessions that this server keeps alive. A session whose client has a connection expires at the
// first tick that begins more than its timeout after the client was last heard of, so between T and T + tick. Source:
// server-semantics 7.3. A silent session does not wait for the tick: its bucket begins between T and T + tick/8. Any
// goroutine may call its methods; none waits.
type Tracker struct {
	tick time.Duration
	mu   struct {
		sync.Mutex
		sessions map[proto.SessionID]*Session
		buckets  map[int64]map[*Session]struct{}
		swept    int64 // buckets up to this one are empty
		ids      ids
		learns   bool // this server is a learner: its leader expires sessions
		// below holds the sessions that observers of this follower have heard of, with their timeouts, and that
		// the leader does not know of yet.
		below map[proto.SessionID]int32
		// silent are the sessions without a client of which TakeSilent has not told yet. Only a leader has them.
		silent []*Session
	}
}

// New returns a Tracker without sessions, which can create sessions after Reserve. tick is the width of a bucket. The
// ids of new sessions have the server's id in their first byte. They begin at wallMs, the wall clock in ms since
// 1970, or at base if that is later: the last one that Reserve kept in an earlier life, 0 if there was none.
func New(tick time.Duration, server proto.ServerID, wallMs, base int64) *Tracker {
	t := &Tracker{tick: tick}
	t.mu.sessions = map[proto.SessionID]*Session{}
	t.mu.buckets = map[int64]map[*Session]struct{}{}
	t.mu.ids = newIDs(server, wallMs, base)
	return t
}

// Restore tracks a session that the state already has, with its full timeout from now.
func (t *Tracker) Restore(id proto.SessionID, timeoutMs int32, now int64) *Session {
	return t.Track(id, timeoutMs, ownerHere, now)
}

// Track tracks a session that exists already, or that a client of the learner on the link owner creates.
func (t *Tracker) Track(id proto.SessionID, timeoutMs int32, owner zab.LinkID, now int64) *Session {
	s := &Session{ID: id, owner: owner}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.sessions[id] = s
	t.renew(s, timeoutMs, now)
	t.mu.ids.passOver(id)
	return s
}

// renew gives a session its timeout, from now on; its client may have been heard of later. REQUIRES: t.mu.
func (t *Tracker) renew(s *Session, timeoutMs int32, now int64) {
	s.timeoutMs.Store(timeoutMs)
	s.heard.Store(max(s.heard.Load(), now))
	t.place(s)
}

// find returns a session, or nil. REQUIRES: the caller reads nothing of it that the lock guards.
func (t *Tracker) find(id proto.SessionID) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.sessions[id]
}

// at calls fn with a session, if there is one, under the lock.
func (t *Tracker) at(id proto.SessionID, fn func(*Session)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.mu.sessions[id]; s != nil {
		fn(s)
	}
}

// live returns a session whose end has not begun, or nil. REQUIRES: t.mu.
func (t *Tracker) live(id proto.SessionID) *Session {
	if s := t.mu.sessions[id]; s != nil && !s.closing.Load() {
		return s
	}
	return nil
}

// Create makes a new session that c serves. Its client was heard of at now. It returns nil if no id is reserved.
func (t *Tracker) Create(timeoutMs int32, c Conn, now int64) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.mu.ids.next()
	for ok && t.mu.sessions[id] != nil {
		id, ok = t.mu.ids.next()
	}
	if !ok {
		return nil
	}
	s := &Session{ID: id, conn: c}
	t.mu.sessions[s.ID] = s
	t.renew(s, timeoutMs, now)
	return s
}

// Resume binds a session to c, and returns it with the connection that served it before. It returns nil if there
// is no such session or its end has begun. Its client was heard of at now.
func (t *Tracker) Resume(id proto.SessionID, timeoutMs int32, c Conn, now int64) (s *Session, old Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s = t.live(id); s == nil {
		return nil, nil
	}
	old, s.conn, s.owner, s.claimed, s.silent = s.conn, c, ownerHere, false, false
	t.renew(s, timeoutMs, now)
	return s, old
}

// Serving returns the connection that serves a session now, or nil.
func (t *Tracker) Serving(id proto.SessionID) (c Conn) {
	t.at(id, func(s *Session) { c = s.conn })
	return c
}

// Unbind notes that c no longer serves s, unless another connection serves it by now.
func (t *Tracker) Unbind(s *Session, c Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.conn != c {
		return
	}
	s.conn = nil
	if !t.mu.learns && s.owner == ownerHere && !s.claimed && t.mu.sessions[s.ID] == s {
		t.silence(s)
	}
}

// Remove forgets a session that has ended, or has moved to an observer of this follower, so that no more requests are
// taken from the client that has it here. It returns the connection that served it, nil if none did.
func (t *Tracker) Remove(id proto.SessionID) Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	if s == nil {
		return nil
	}
	s.closing.Store(true)
	delete(t.mu.sessions, id)
	delete(t.mu.buckets[s.bucket], s)
	return s.conn
}

// Count returns how many sessions there are.
func (t *Tracker) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.sessions)
}

// Knows reports whether s is tracked now.
func (t *Tracker) Knows(s *Session) bool { return t.find(s.ID) == s }

// Serves reports whether a client of this server has the session.
func (t *Tracker) Serves(id proto.SessionID) bool { return t.Serving(id) != nil }

// Lives reports whether there is a session whose end has not begun.
func (t *Tracker) Lives(id proto.SessionID) bool {
	s := t.find(id)
	return s != nil && !s.closing.Load()
}

// Ends reports whether the end of a session has begun, and is not applied yet: it may still come to nothing, if this
// server loses its leadership before the closeSession is committed.
func (t *Tracker) Ends(id proto.SessionID) bool {
	s := t.find(id)
	return s != nil && s.closing.Load()
}

// SetClosing begins the end of a session, if it is tracked.
func (t *Tracker) SetClosing(id proto.SessionID) { t.at(id, (*Session).SetClosing) }

// reset forgets all sessions. learns says that this server is a learner.
func (t *Tracker) reset(learns bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.sessions = map[proto.SessionID]*Session{}
	t.mu.buckets = map[int64]map[*Session]struct{}{}
	t.mu.learns = learns
	t.mu.below, t.mu.silent = nil, nil
}
