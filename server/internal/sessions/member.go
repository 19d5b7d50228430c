package sessions

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Lead begins to track all sessions of the state, which each yields, with their full timeouts from now: see
// Inherit for those of which more is known. It is not known which server has the client of a session before the client
// sends a request.
func (t *Tracker) Lead(each func(yield func(id proto.SessionID, timeoutMs int32)), now int64) {
	t.reset(false)
	t.mu.Lock()
	t.mu.swept = now / t.part()
	t.mu.Unlock()
	each(func(id proto.SessionID, timeoutMs int32) { t.Track(id, timeoutMs, ownerUnknown, now) })
}

// Follow forgets all sessions, and tracks only those of clients of this server from now on.
func (t *Tracker) Follow() { t.reset(true) }

// Check reports whether a request of a session, which has come on link at now, may be taken: the session lives,
// and its client is at that learner. If so, the client counts as heard of. local says that learners may have
// local sessions. For a learner a session lives until its end is prepared, and package prepare refuses what comes
// behind that: the refusal is a txn, which would say that a session has ended that goes on if the leadership ends
// before its end is proposed. Source: quorum-protocol 8.2, 8.7.
func (t *Tracker) Check(id proto.SessionID, link zab.LinkID, local bool, now int64) proto.ErrCode {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	switch {
	case s == nil && local && link != ownerHere && !t.mu.ids.own(id):
		return proto.OK // a local session of that learner, as far as this server knows
	case s == nil, link == ownerHere && s.closing.Load():
		return proto.ErrSessionExpired
	case s.owner == ownerUnknown && !s.silent:
		s.owner = link
	case s.owner != link:
		return proto.ErrSessionMoved
	}
	if now > s.heard.Load() {
		s.Touch(now)
	}
	return proto.OK
}

// Revalidate gives a session to the learner on link, whose client has reconnected with it. It returns the link that
// had it before, as Owner does. note says that the history must tell of it: the session has moved, or was silent.
// valid is false if there is no such session, or if only this server knows it.
func (t *Tracker) Revalidate(id proto.SessionID, timeoutMs int32, link zab.LinkID, now int64) (
	from zab.LinkID, note, valid bool,
) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.live(id)
	if s == nil || s.local.Load() {
		return 0, false, false
	}
	from, note = s.owner, s.owner != link || s.silent
	s.owner, s.claimed, s.silent = link, link == ownerHere, false
	t.renew(s, timeoutMs, now)
	return from, note, true
}

// Owner returns the link to the learner that has a session: 0 if this server has it, or no server knows it.
func (t *Tracker) Owner(id proto.SessionID) (owner zab.LinkID) {
	t.at(id, func(s *Session) { owner = s.owner })
	return owner
}

// Moved notes that another server has the client of a session, which this learner may have had.
func (t *Tracker) Moved(id proto.SessionID) {
	t.at(id, func(s *Session) { s.moved.Store(true) })
}

// Own returns the global sessions whose clients are at this server, as far as it knows.
func (t *Tracker) Own() map[*Session]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := map[*Session]bool{}
	for _, s := range t.mu.sessions {
		if s.conn != nil && s.owner == ownerHere && !s.local.Load() && !s.closing.Load() && !s.moved.Load() {
			own[s] = true
		}
	}
	return own
}

// Reclaim gives a session to the learner on link, whose client has kept its connection over the loss of its leader and
// was last heard of there, at heard. had says of links that are gone whether they were of that learner. Reclaim
// reports false if the session does not live, or if its client was heard of at another server, or has been at none.
func (t *Tracker) Reclaim(id proto.SessionID, link zab.LinkID, heard int64, had func(zab.LinkID) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.live(id)
	switch {
	case s == nil, s.local.Load(), s.silent:
		return false
	case s.owner == ownerUnknown:
		t.setHeard(s, min(s.heard.Load(), heard))
	case had(s.owner): // this server has led all the time, and learners tell only of what they have heard
		t.setHeard(s, max(s.heard.Load(), heard))
	default:
		return false
	}
	s.owner = link
	return true
}

// Retake tracks a session of which c has been kept over a change of the leader, and whose client was last heard of at
// heard. A leader does so by the rule of Reclaim. At a learner, which has told the leader when that was, it must not
// be tracked already: its client would have come back on another connection.
func (t *Tracker) Retake(s *Session, c Conn, leads bool, heard int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.mu.sessions[s.ID]
	if leads {
		if known == nil || known.closing.Load() || known.local.Load() || known.owner != ownerUnknown || known.silent {
			return false
		}
		delete(t.mu.buckets[known.bucket], known)
	} else if known != nil {
		return false
	}
	s.conn, s.owner, s.claimed, s.bucket = c, ownerHere, false, -1
	t.mu.sessions[s.ID] = s
	s.heard.Store(heard)
	s.reported = heard
	if leads {
		t.place(s)
	}
	return true
}

// Adopt binds a session that the leader has confirmed to c, and returns it with the connection that served it
// here before. Its client was heard of at now.
func (t *Tracker) Adopt(id proto.SessionID, timeoutMs int32, c Conn, now int64) (s *Session, old Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s = t.live(id); s == nil {
		s = &Session{ID: id}
		t.mu.sessions[id] = s
	}
	old, s.conn = s.conn, c
	s.moved.Store(false)
	s.claimed = false
	t.renew(s, timeoutMs, now)
	return s, old
}

// TouchSize is the size of one entry in the answer to PING: session id and timeout in ms.
const TouchSize = 12

// AppendTouched appends the sessions that this learner, or an observer of it, has heard of since the last call,
// and forgets those whose client has disconnected. They are in the order of their ids. released are those that it has
// forgotten, and whose clients are not about to go on here. Source: quorum-protocol 8.5.
func (t *Tracker) AppendTouched(b []byte) (_ []byte, released []Silent) {
	all, released := t.takeTouched()
	slices.SortFunc(all, func(a, b touched) int { return cmp.Compare(a.id, b.id) })
	for _, s := range all {
		b = binary.BigEndian.AppendUint64(b, uint64(s.id))
		b = binary.BigEndian.AppendUint32(b, uint32(s.timeoutMs))
	}
	return b, released
}

// touched is a session that was heard of.
type touched struct {
	id        proto.SessionID
	timeoutMs int32
}

// takeTouched is AppendTouched in no order.
func (t *Tracker) takeTouched() (all []touched, released []Silent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mu.learns {
		return nil, nil
	}
	for id, s := range t.mu.sessions {
		if s.local.Load() {
			continue
		}
		if heard := s.heard.Load(); heard > s.reported {
			s.reported = heard
			all = append(all, touched{id, s.timeoutMs.Load()})
		} else if s.conn == nil {
			delete(t.mu.sessions, id)
			if s.released() {
				released = append(released, Silent{id, heard})
			}
		}
	}
	for id, timeoutMs := range t.mu.below {
		all = append(all, touched{id, timeoutMs})
	}
	clear(t.mu.below)
	return all, released
}

// Touched extends the sessions that a learner has heard of, according to its answer to PING.
func (t *Tracker) Touched(data []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; len(data) >= TouchSize; data = data[TouchSize:] {
		if s := t.live(proto.SessionID(binary.BigEndian.Uint64(data))); s != nil {
			s.heard.Store(now)
		}
	}
}

// belowMax bounds the sessions of observers between two PINGs of the leader. The leader does not learn of more.
const belowMax = 1 << 20

// HeardBelow notes the sessions that an observer of this follower has heard of, for the next answer to the leader's
// PING.
func (t *Tracker) HeardBelow(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.below == nil {
		t.mu.below = map[proto.SessionID]int32{}
	}
	for ; len(data) >= TouchSize && len(t.mu.below) < belowMax; data = data[TouchSize:] {
		id, timeoutMs := proto.SessionID(binary.BigEndian.Uint64(data)), int32(binary.BigEndian.Uint32(data[8:]))
		if id != 0 && timeoutMs >= 0 { // not one of Warren's own entries
			t.mu.below[id] = timeoutMs
		}
	}
}
