package sessions

import (
	"encoding/binary"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// A session is silent when no server has its client. Warren servers tell each other how long ago the clients of silent
// sessions were last heard of, so that the next leader need not give them their whole timeouts again. The argument
// why no session ends early is in docs/protocol/guarantees.md.
//
// Invariant: a leader hands a silent session to a server only through Revalidate, and the caller proposes a txn of
// that session before the client goes on. A server that delivers such a txn discards what it was told about the
// session. The same is true of requests sent before the client left, because each of them becomes a txn.

// Silent is a session without a client, which was last heard of at Heard, ns on the clock of this server.
type Silent struct {
	ID    proto.SessionID
	Heard int64
}

// silentSize is the size of one entry in the packets: session id and age in ms.
const silentSize = 12

// AppendSilent appends sessions with their ages at now, rounded down.
func AppendSilent(b []byte, all []Silent, now int64) []byte {
	for _, s := range all {
		age := min(max(now-s.Heard, 0)/int64(time.Millisecond), 1<<31-1)
		b = binary.BigEndian.AppendUint64(b, uint64(s.ID))
		b = binary.BigEndian.AppendUint32(b, uint32(age))
	}
	return b
}

// EachSilent yields what AppendSilent has written, which has arrived at now. What it took to arrive makes sessions
// younger.
func EachSilent(data []byte, now int64) func(yield func(id proto.SessionID, heard int64) bool) {
	return func(yield func(proto.SessionID, int64) bool) {
		for ; len(data) >= silentSize; data = data[silentSize:] {
			age := int64(binary.BigEndian.Uint32(data[8:])) * int64(time.Millisecond)
			if !yield(proto.SessionID(binary.BigEndian.Uint64(data)), now-age) {
				return
			}
		}
	}
}

// released reports whether this learner was the server of a session whose client has left it. REQUIRES: t.mu.
func (s *Session) released() bool {
	return s.conn == nil && !s.claimed && s.owner == ownerHere && !s.local.Load() && !s.closing.Load() &&
		!s.moved.Load()
}

// Claim notes that this learner asks for a session, of a client that has come back here or at an observer of it: it is
// not released before the client has gone on and left again.
func (t *Tracker) Claim(id proto.SessionID) {
	t.at(id, func(s *Session) { s.claimed = true })
}

// Left returns the sessions that this learner has not released yet though their clients have left.
func (t *Tracker) Left() (all []Silent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, s := range t.mu.sessions {
		if s.released() {
			all = append(all, Silent{id, s.heard.Load()})
		}
	}
	return all
}

// Released notes that the client of a session has left the learner on link, and was last heard of there, at heard. A
// new leader, which does not know yet who has the client, believes it, too.
func (t *Tracker) Released(id proto.SessionID, link zab.LinkID, heard int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.live(id); s != nil && !s.silent && (s.owner == link || s.owner == ownerUnknown) {
		t.setHeard(s, min(s.heard.Load(), heard))
		t.silence(s)
	}
}

// Abandon notes that the owner of sessions has gone, or that none has asked for them since this leader began.
func (t *Tracker) Abandon(owner zab.LinkID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.mu.sessions {
		if s.owner == owner && !s.silent {
			t.silence(s)
		}
	}
}

// Inherit notes that a session was silent under the leader before, and when its client was last heard of.
// REQUIRES: Lead was called, and nothing else since.
func (t *Tracker) Inherit(id proto.SessionID, heard int64) {
	t.at(id, func(s *Session) {
		t.setHeard(s, min(s.heard.Load(), heard))
		t.silence(s)
	})
}

// TakeSilent returns the sessions that have become silent since the last call; with all, every silent session.
func (t *Tracker) TakeSilent(all bool) (silent []Silent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add := func(s *Session) {
		if s.silent && !s.closing.Load() {
			silent = append(silent, Silent{s.ID, s.heard.Load()})
		}
	}
	if all {
		for _, s := range t.mu.sessions {
			add(s)
		}
		return silent
	}
	for _, s := range t.mu.silent {
		add(s)
	}
	t.mu.silent = nil
	return silent
}

// Doubt notes that the client of a session may also be at a server that had it before, and that cannot be told that it
// has moved.
func (t *Tracker) Doubt(id proto.SessionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.live(id); s != nil {
		s.doubted = true
	}
}

// silence notes that no server has the client of a session. REQUIRES: t.mu.
func (t *Tracker) silence(s *Session) {
	if !s.local.Load() && !s.closing.Load() && !s.doubted {
		s.silent = true
		t.mu.silent = append(t.mu.silent, s)
		t.place(s)
	}
}

// setHeard makes a session of this leader older than was assumed. REQUIRES: t.mu.
func (t *Tracker) setHeard(s *Session, heard int64) {
	s.heard.Store(heard)
	if !s.closing.Load() {
		t.place(s)
	}
}
