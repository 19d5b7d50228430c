package server

import (
	"encoding/binary"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// In an ensemble the leader tracks every session, and owns the decision that one has expired. A learner tracks those of its
// clients, and tells the leader which were heard of. Source: quorum-protocol 8.4 to 8.6.

// lead begins to track all sessions of the state, each with its full timeout from now; who serves them will show.
func (t *tracker) lead(state *datatree.State, now int64) {
	t.reset(false)
	t.mu.Lock()
	t.mu.swept = now / int64(t.tick)
	t.mu.Unlock()
	state.EachSession(func(id proto.SessionID, timeoutMs int32) { t.restore(id, timeoutMs, now).owner = ownerUnknown })
}

// follow forgets all sessions, and tracks only those of clients of this server from now on.
func (t *tracker) follow() { t.reset(true) }

func (t *tracker) reset(learns bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.sessions = map[proto.SessionID]*session{}
	t.mu.buckets = map[int64]map[*session]struct{}{}
	t.mu.learns = learns
	t.mu.below = nil
}

// belowMax bounds the sessions of observers between two PINGs of the leader: more are not told of.
const belowMax = 1 << 20

// heardBelow notes the sessions that an observer of this follower has heard of, for the next answer to the leader's PING.
func (t *tracker) heardBelow(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.below == nil {
		t.mu.below = map[proto.SessionID]int32{}
	}
	for ; len(data) >= touchSize && len(t.mu.below) < belowMax; data = data[touchSize:] {
		id, timeoutMs := proto.SessionID(binary.BigEndian.Uint64(data)), int32(binary.BigEndian.Uint32(data[8:]))
		if id != 0 && timeoutMs >= 0 { // not one of Warren's own entries
			t.mu.below[id] = timeoutMs
		}
	}
}

// track begins to track a session that a client of the learner on link creates.
func (t *tracker) track(id proto.SessionID, timeoutMs int32, link zab.LinkID, now int64) {
	t.restore(id, timeoutMs, now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.mu.sessions[id]; s != nil {
		s.owner = link
	}
}

// check says whether a request of a session, which has arrived at now, may be taken from link: the session lives, and its client is there.
// Then it was heard of. local says that learners may have sessions of their own. Source: quorum-protocol 8.2, 8.7.
func (t *tracker) check(id proto.SessionID, link zab.LinkID, local bool, now int64) proto.ErrCode {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	switch {
	case s == nil && local && link != ownerHere && byte(id>>56) != byte(t.mu.nextID>>56):
		return proto.OK // a local session of that learner, for all that can be known here
	case s == nil || s.closing.Load():
		return proto.ErrSessionExpired
	case s.owner == ownerUnknown:
		s.owner = link
	case s.owner != link:
		return proto.ErrSessionMoved
	}
	if now > s.heard.Load() {
		s.touch(now)
	}
	return proto.OK
}

// revalidate gives a session to the learner on link, whose client has come back with it. It reports false if there is no such
// session, or if only this server knows it.
func (t *tracker) revalidate(id proto.SessionID, timeoutMs int32, link zab.LinkID, now int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	if s == nil || s.closing.Load() || s.local.Load() {
		return false
	}
	s.owner = link
	s.timeoutMs.Store(timeoutMs)
	s.heard.Store(now)
	t.place(s)
	return true
}

// adopt binds a session that the leader has confirmed to c, and returns the connection that has served it here so far.
func (t *tracker) adopt(id proto.SessionID, timeoutMs int32, c *conn) (s *session, old *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.mu.sessions[id]
	if s == nil || s.closing.Load() {
		s = &session{id: id}
		t.mu.sessions[id] = s
	}
	old, s.conn = s.conn, c
	s.timeoutMs.Store(timeoutMs)
	s.heard.Store(c.received)
	return s, old
}

// serves reports whether a client of this server has the session.
func (t *tracker) serves(id proto.SessionID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	return s != nil && s.conn != nil
}

// leave forgets a session that has moved to an observer of this follower, so that nothing more is taken from the client that has it here, and
// returns the connection of that one, or nil.
func (t *tracker) leave(id proto.SessionID) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	if s == nil {
		return nil
	}
	s.closing.Store(true)
	delete(t.mu.sessions, id)
	return s.conn
}

// knows reports whether s is tracked now.
func (t *tracker) knows(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.sessions[s.id] == s
}

// closing notes that the end of a session has been prepared.
func (t *tracker) closing(id proto.SessionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.mu.sessions[id]; s != nil {
		s.closing.Store(true)
	}
}

// touchSize is the size of one entry in the answer to PING: session id and timeout in ms.
const touchSize = 12

// appendTouched appends the sessions that a learner, or an observer of it, has heard of since the last call, and forgets those whose client is
// gone. Source: quorum-protocol 8.5.
func (t *tracker) appendTouched(b []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mu.learns {
		return b
	}
	for id, s := range t.mu.sessions {
		if s.local.Load() {
			continue
		}
		if heard := s.heard.Load(); heard > s.reported {
			s.reported = heard
			b = binary.BigEndian.AppendUint64(b, uint64(id))
			b = binary.BigEndian.AppendUint32(b, uint32(s.timeoutMs.Load()))
		} else if s.conn == nil {
			delete(t.mu.sessions, id)
		}
	}
	for id, timeoutMs := range t.mu.below {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		b = binary.BigEndian.AppendUint32(b, uint32(timeoutMs))
	}
	clear(t.mu.below)
	return b
}

// touched extends the sessions that a learner has heard of, as it has told in the answer to PING.
func (t *tracker) touched(data []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; len(data) >= touchSize; data = data[touchSize:] {
		if s := t.mu.sessions[proto.SessionID(binary.BigEndian.Uint64(data))]; s != nil && !s.closing.Load() {
			s.heard.Store(now)
		}
	}
}
