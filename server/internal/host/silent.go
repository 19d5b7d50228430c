package host

import (
	"cmp"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// What servers tell each other of silent sessions, whose clients no server has: see sessions/silent.go. Only Warren
// servers are told.

// silence is what a learner knows of silent sessions. Owned by the host goroutine. What it knows counts in the next
// epoch only: in any later one the session may have been used, and what tells of that is not here.
type silence struct {
	link  zab.LinkID // to the leader that has told of heard
	heard map[proto.SessionID]report
	// former is what is left of the last role. until is when its leader was last heard of: from then on, no time is
	// counted against clients until there is another leader. silent are the sessions that the leader had told of, and
	// those of this server that it has not told the leader of.
	former struct {
		epoch, until int64
		silent       map[proto.SessionID]report
	}
}

// report is what a leader has told of a session.
type report struct {
	heard int64      // when the client was last heard of, ns on the server's clock
	last  proto.Zxid // of the newest txn of the leader then; -1 if it is not known. Later ones refute the report.
}

// silentMax bounds the sessions that a leader tells of; of more it does not tell.
const silentMax = 1 << 20

// told notes what the leader tells of silent sessions.
func (s *silence) told(l *link, p *peers.Packet) {
	if s.link != l.ID {
		s.link, s.heard = l.ID, map[proto.SessionID]report{}
	}
	for id, heard := range sessions.EachSilent(p.Data, l.arrived) {
		if len(s.heard) < silentMax {
			s.heard[id] = report{heard, p.Zxid}
		}
	}
}

// delivered forgets the sessions that have txns: their clients have come back, or they have ended. Txns that the
// leader had made when it told of the session say nothing new, but may be delivered later than that arrives.
func (s *silence) delivered(txns []zab.Txn) {
	if len(s.heard) == 0 && len(s.former.silent) == 0 {
		return
	}
	for _, t := range txns {
		r := proto.NewReader(t.Payload)
		var h proto.TxnHeader
		h.Decode(&r)
		for _, known := range [...]map[proto.SessionID]report{s.heard, s.former.silent} {
			if t.Zxid > known[h.ClientID].last {
				delete(known, h.ClientID)
			}
		}
	}
}

// forget forgets all sessions.
func (s *silence) forget() { s.heard, s.former.silent = nil, nil }

// leadingEnds notes that this server does not lead any more.
func (s *silence) leadingEnds(now int64) {
	*s = silence{}
	s.former.until = now
}

// followingEnds notes that this server does not follow the leader any more.
func (s *silence) followingEnds(f *following) {
	if f.link == nil {
		s.leadingEnds(f.Clock.Now())
		return
	}
	silent := map[proto.SessionID]report{}
	if s.link == f.link.ID && s.heard != nil {
		silent = s.heard
	}
	if f.link.ID == f.h.noting {
		for _, left := range f.Tracker.Left() {
			silent[left.ID] = report{left.Heard, -1}
		}
	}
	s.heard = nil
	s.former.epoch, s.former.until, s.former.silent = f.h.epoch, f.link.arrived, silent
}

// without is when a client counts as heard of that was heard of at heard, under the leader before: the time without a
// leader until now is not counted.
func (s *silence) without(heard, now int64) int64 {
	return min(heard+max(now-s.former.until, 0), now)
}

// left returns what counts in an epoch of what the role before knew, in the order of the ids, and forgets it.
func (s *silence) left(epoch, now int64) (all []sessions.Silent) {
	if s.former.epoch != 0 && s.former.epoch+1 == epoch {
		for _, id := range inOrder(s.former.silent, cmp.Compare) {
			all = append(all, sessions.Silent{ID: id, Heard: s.without(s.former.silent[id].heard, now)})
		}
	}
	s.former.silent = nil
	return all
}

// inherit gives the tracker of this leader what is known from the leader before.
func (s *silence) inherit(t *sessions.Tracker, epoch, now int64) {
	for _, one := range s.left(epoch, now) {
		t.Inherit(one.ID, one.Heard)
	}
	s.forget()
}

// heard is when the client of a kept connection was last heard of, as if there had been a leader all the time. There
// was one if it is still the same.
func (h *Host) heard(s *sessions.Session) int64 {
	if h.status.Epoch == h.silence.former.epoch {
		return s.Heard()
	}
	return h.silence.without(s.Heard(), h.Clock.Now())
}

// released tells the leader of sessions whose clients have left this server, or had left the ensemble before it led.
func (h *Host) released(l *link, all []sessions.Silent) {
	if l.warren && l.Peer == h.status.Leader {
		h.links.sendSilent(l, -1, all, h.Clock.Now())
	}
}

// tellSilent is called when ticks of the core were due: it tells the learners which sessions have become silent.
// Those whose server is gone become silent when no connection can have been kept for them any more.
func (l *leading) tellSilent() {
	h, now := l.h, l.Clock.Now()
	for _, id := range inOrder(l.lost, cmp.Compare) {
		if now-l.lost[id].since >= int64(min(h.Config.ConnectionKeep, h.Config.LongestLease())) {
			delete(l.lost, id)
			h.Tracker.Abandon(id)
		}
	}
	silent := h.Tracker.TakeSilent(false)
	if len(silent) == 0 {
		return
	}
	for _, to := range h.links.inOrder() {
		if to.learner() && to.told {
			h.links.sendSilent(to, l.next-1, silent, now) // it leaves with the next turn
		}
	}
}

// reportLeft tells the next leader of the sessions that had no client at the end of the epoch before: it may have been
// told of none, because it is the former one, which was started again at once, or of fewer. Those that the last leader
// was not told of were this server's until then, by the argument for kept connections.
func (f *following) reportLeft() {
	left := f.h.silence.left(f.epoch, f.Clock.Now())
	if f.link != nil {
		f.h.released(f.link, left)
	}
}
