package sim

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// stream watches what a leader sends on one connection. Source: quorum-protocol 14.3 R3, R5, R6, 15.2 stream
// exactness.
type stream struct {
	epoch     int64
	leader    proto.ServerID // of the epoch: of an observer master, the server that it follows
	history   proto.Zxid     // last proposal before NEWLEADER
	synced    bool           // DIFF, TRUNC or SNAP was sent
	newLeader bool
	upToDate  bool
	renews    bool         // the next epoch was offered to a learner that is up to date
	open      []proto.Zxid // proposals without their COMMIT
	last      proto.Zxid   // last proposal
	diffed    proto.Zxid   // last committed txn before NEWLEADER
}

func (w *stream) sent(s *Sim, e *end, m *zab.Message) {
	bad := func(format string, args ...any) { s.fail("Stream", format, args...) }
	switch m.Type {
	case zab.LeaderInfo:
		w.renews = w.upToDate && m.Epoch > w.epoch || w.renews && m.Epoch == w.epoch
		w.epoch, w.leader = m.Epoch, e.n.id
		if e.n.status.State == zab.Following {
			w.leader = e.n.status.Leader
		}
	case zab.Diff, zab.Trunc, zab.Snap:
		if w.synced {
			bad("server %d sends %v twice", e.n.id, m.Type)
		}
		w.synced = true
		s.countSync(m.Type)
	case zab.Proposal, zab.Commit, zab.Inform, zab.Activate, zab.InformActive:
		if !w.synced {
			bad("server %d sends %v before DIFF, TRUNC or SNAP", e.n.id, m.Type)
		}
		if w.newLeader && !w.upToDate {
			bad("R5: server %d sends %v between NEWLEADER and UPTODATE", e.n.id, m.Type)
		}
		w.order(bad, e, m)
		w.mastered(bad, e, m)
	case zab.NewLeader:
		if !w.synced || w.newLeader && !w.renews {
			bad("server %d sends NEWLEADER out of turn", e.n.id)
		}
		if w.renews {
			s.Stats.Renewals++
		}
		w.newLeader, w.upToDate, w.renews, w.history = true, false, false, w.last
	case zab.UpToDate:
		if !w.newLeader || w.upToDate {
			bad("server %d sends UPTODATE out of turn", e.n.id)
		}
		w.upToDate = true
		if e.n.status.State == zab.Following {
			s.Stats.Mastered++
		}
	}
}

// order: proposals follow each other, and each COMMIT is that of the oldest proposal (or, between Warren servers, of
// one that was sent).
func (w *stream) order(bad func(string, ...any), e *end, m *zab.Message) {
	plain := e.n.plain || e.peer.n.plain
	if plain && len(m.Txns) > 1 {
		bad("server %d sends %d txns in one message to a peer that is not Warren", e.n.id, len(m.Txns))
	}
	for _, t := range m.Txns {
		if w.last != 0 && !follows(w.last, t.Zxid) {
			bad("R3: server %d sends %v after %v", e.n.id, t.Zxid, w.last)
		}
		w.last = t.Zxid
		if m.Type == zab.Proposal {
			w.open = append(w.open, t.Zxid)
		}
	}
	if m.Type != zab.Commit && m.Type != zab.Activate {
		return
	}
	i := 0
	for i < len(w.open) && w.open[i] != m.Zxid {
		i++
	}
	if i == len(w.open) || plain && i > 0 {
		bad("R3: server %d commits %v, open are %v", e.n.id, m.Zxid, w.open)
	}
	w.open = w.open[i+1:]
	if !w.newLeader {
		w.diffed = m.Zxid
	}
}

// mastered: a follower shows an observer what it has delivered itself, and nothing else. Source: adr 0010.
func (w *stream) mastered(bad func(string, ...any), e *end, m *zab.Message) {
	for _, t := range m.Txns {
		if has := lastOf(e.n.state); e.n.status.State == zab.Following && t.Zxid > has {
			bad("observer master %d sends %v, but has delivered only %v", e.n.id, t.Zxid, has)
		}
	}
}

func (s *Sim) countSync(t zab.Type) {
	switch t {
	case zab.Diff:
		s.Stats.Diffs++
	case zab.Trunc:
		s.Stats.Truncs++
	}
}
