package zab

import "github.com/seed94657493/warren/proto"

// plan is how a learner is brought in line.
type plan struct {
	op     Type       // Diff, Trunc or Snap
	zxid   proto.Zxid // zxid of that message
	base   proto.Zxid // where the learner stands after that message
	replay proto.Zxid // txns in (base, replay] come from the log on disk; base if there are none
}

// plan decides between DIFF, TRUNC and SNAP for a learner whose last zxid is p. It is the table of
// quorum-protocol 6.3, except that TRUNC crosses into another epoch only if this server knows that the learner
// has the txn to which TRUNC cuts.
func (ls *learners) plan(p proto.Zxid) plan {
	w := &ls.log.window
	top := ls.top()
	switch {
	case p == top:
		return plan{op: Diff, zxid: p, base: p, replay: p}
	// Java cannot cut its whole log: it keeps a record when the target is none.
	case p > top && p.Counter() != 0 && top != 0:
		// A txn that was proposed but is not committed is cut and sent again, because the learner must hear its
		// COMMIT.
		if p.Epoch() == top.Epoch() || p <= w.last() && w.holds(p) {
			return plan{op: Trunc, zxid: top, base: top, replay: top}
		}
	case p >= w.before && p < top:
		i := w.above(p)
		at := w.before
		if i > 0 {
			at = w.txns[i-1].Zxid
		}
		return ls.planAt(p, at, w.txns[i].Zxid, at)
	case p < w.before:
		at, next, ok := ls.cfg.History.Locate(p)
		if ok && next != 0 && at <= p && p < next && next <= w.before {
			return ls.planAt(p, at, next, w.before)
		}
	}
	return ls.whole()
}

// whole returns the plan to send everything.
func (ls *learners) whole() plan {
	return plan{op: Snap, zxid: ls.log.delivered, base: ls.log.delivered, replay: ls.log.delivered}
}

// top returns the last txn that a learner may take for committed. Until the epoch is established that is the end
// of the history: the learner acts on it after UPTODATE only.
func (ls *learners) top() proto.Zxid {
	if !ls.established {
		return ls.log.window.last()
	}
	if i := ls.log.window.above(ls.shown()); i > 0 {
		return ls.log.window.txns[i-1].Zxid
	}
	return ls.log.window.before
}

// planAt decides for a learner at p, where at is the last txn of the history that is not above p, and next the
// first above it.
func (ls *learners) planAt(p, at, next, replay proto.Zxid) plan {
	switch {
	case at == p, p.Counter() == 0 && next.Counter() == 1:
		return plan{op: Diff, zxid: ls.top(), base: p, replay: max(p, replay)}
	case next.Epoch() == p.Epoch() && at.Epoch() == p.Epoch():
		return plan{op: Trunc, zxid: at, base: at, replay: max(at, replay)}
	}
	return ls.whole()
}

// startSync begins to send a learner all that it lacks. Source: quorum-protocol 6.4.
func (ls *learners) startSync(l *link) {
	if ls.compare(l); l.parted {
		ls.invite(l, ls.epoch)
		return
	}
	pl := ls.plan(l.position)
	if ls.top() != 0 && (ls.cfg.Whole || l.asksAll || l.ackEpoch == -1 && l.position == 0) {
		pl = ls.whole() // the learner has asked for it, or has nothing
	}
	if !ls.maySync(l, pl.op == Snap) {
		ls.out.Throttled = append(ls.out.Throttled, l.id)
		ls.closeLink(l)
		return
	}
	l.base, l.whole = pl.base, pl.op == Snap
	m := Message{Type: pl.op, Zxid: pl.zxid}
	if l.lineage != nil && pl.op != Snap {
		var sums Sums
		sums, m.Summed = ls.sums(pl.base)
		if m.Sum = sums.Whole; sums.Bare != sums.Whole {
			m.Bare = sums.Bare
		}
	}
	l.send(m)
	if pl.op == Snap {
		l.stage = linkStreaming
		return
	}
	ls.sendHistory(l, pl.replay)
}

// startSync is learners.startSync for a leader.
func (ld *leader) startSync(l *link) {
	ld.learners.startSync(l)
	if l.voter >= 0 && ld.acked[l.voter] > l.base {
		// Txns that the learner is about to cut, or has lost, must not be counted as durable there.
		ld.acked[l.voter] = l.base
	}
}

// maySync reports whether one more learner may be brought up to date. Observers wait for each other: if many of
// them reconnect at once the leader still has time for the voters. Source: quorum-protocol 6.5.
func (ls *learners) maySync(l *link, whole bool) bool {
	limit := ls.cfg.Limits.DiffSyncsMax
	if whole {
		limit = ls.cfg.Limits.SnapSyncsMax
	}
	snaps, diffs := ls.Syncing()
	return !l.observer || l.voter >= 0 || limit == 0 || !whole && diffs < limit || whole && snaps < limit
}

// Syncing returns how many learners this server is bringing up to date, by SNAP and otherwise: those that have
// not acknowledged NEWLEADER yet.
func (ls *learners) Syncing() (snaps, diffs int) {
	for _, l := range ls.links {
		switch {
		case l.stage != linkStreaming && l.stage != linkSyncing:
		case l.whole:
			snaps++
		default:
			diffs++
		}
	}
	return snaps, diffs
}

// Streamed tells the core of a leader or an observer master that the whole state which SNAP asked for was written
// to the link, and that it holds no effect of a txn above upTo. Only now may NEWLEADER follow: the learner's
// state is consistent once it has all txns up to upTo. Source: quorum-protocol 6.4, B12.
func (c *Core) Streamed(id LinkID, upTo proto.Zxid) {
	l := c.find(id)
	if l == nil || l.stage != linkStreaming || !c.serves(l) {
		return
	}
	if upTo > c.log.window.last() {
		violated("the snapshot for server %d has %v, but the history ends at %v", l.peer,
			upTo, c.log.window.last())
	}
	l.heard = c.now
	c.sendHistory(l, max(l.base, c.log.window.before))
}

// sendHistory sends the messages after DIFF, TRUNC or SNAP: first txns of the log on disk up to replay, then
// those of the window, and NEWLEADER. Later proposals and commits are held back until UPTODATE was sent, because
// some Java followers fail on them before (R5).
func (ls *learners) sendHistory(l *link, replay proto.Zxid) {
	if l.master && ls.lag(replay) > ls.cfg.Limits.LagBytes {
		replay = ls.top() // all of it is in the log here
	}
	if replay > l.base {
		l.send(Message{Type: Replay, After: l.base, Zxid: replay})
	}
	l.sent, l.committed = replay, replay
	for _, t := range batches(ls.log.window.between(l.sent, ls.top()), l.warren) {
		l.send(Message{Type: Proposal, Txns: t})
		l.send(Message{Type: Commit, Zxid: t[len(t)-1].Zxid})
		l.sent = t[len(t)-1].Zxid
		l.committed = l.sent
	}
	if !l.observer {
		l.propose(&ls.log.window, ls.log.window.last())
	}
	m := Message{Type: NewLeader, Epoch: ls.epoch, Zxid: proto.MakeZxid(ls.epoch, 0), Config: ls.text,
		Active: ls.activeText(l)}
	if ls.next != nil && !ls.established { // later the reconfiguration is only a proposal, and is sent as one
		m.Config = ls.next.Wire()
	}
	if l.lineage != nil {
		m.Lineage = ls.log.lineage
	}
	l.send(m)
	l.stage, l.epoch = linkSyncing, ls.epoch
	l.mark, l.marked = l.sent, ls.now
}

// activeText returns the text of the committed configuration, which NEWLEADER carries beside the last one of the
// history.
func (m *members) activeText(l *link) []byte {
	if l.warren && m.roster != nil {
		return m.text
	}
	return nil
}

// batches yields txns in portions of a size that the peer understands.
func batches(txns []Txn, warren bool) func(yield func(int, []Txn) bool) {
	return func(yield func(int, []Txn) bool) {
		portion := 1
		if warren {
			portion = batchTxnsMax
		}
		for i := 0; len(txns) > 0; i++ {
			n := min(portion, len(txns))
			if !yield(i, txns[:n:n]) {
				return
			}
			txns = txns[n:]
		}
	}
}

// batchTxnsMax bounds the txns of one message between Warren servers.
const batchTxnsMax = 1000

// upToDateTo sends UPTODATE, so that the learner serves, and begins its live traffic.
func (ls *learners) upToDateTo(l *link) {
	l.send(Message{Type: UpToDate, Zxid: -1, Final: l.lineage != nil && ls.log.lineage.Final})
	l.stage = linkUpToDate
}

// What an ACK of a learner means.
type ackKind uint8

const (
	ackNothing    ackKind = iota // the ACK of UPTODATE, or an early one
	ackNewLeader                 // of the history, and the epoch
	ackNextEpoch                 // of the next epoch: see renewal.go
	ackProposal                  // of proposals
	ackUnexpected                // the link must be closed
)

// ack takes an ACK of a learner. Source: quorum-protocol 6.6, 7.2.
func (l *link) ack(z proto.Zxid, epoch int64) ackKind {
	switch {
	case l.stage == linkSyncing:
		if z != proto.MakeZxid(epoch, 0) {
			if z <= l.sent {
				l.early = max(l.early, z)
			}
			return ackNothing // of a txn, not of NEWLEADER (R4)
		}
		l.stage = linkSynced
		// A Warren learner has made durable all that came before NEWLEADER. For other learners only the committed
		// part is certain; they acknowledge the open proposals one by one, and some may be earlier than NEWLEADER.
		l.acked = max(l.base, l.committed, l.early)
		if l.warren {
			l.acked = max(l.acked, l.sent)
		}
		return ackNewLeader
	case l.renewal == renewalAdopting && l.epoch != l.adopting && z == proto.MakeZxid(l.adopting, 0):
		// An observer master may have gone on to a later epoch meanwhile, into which the observer is led next.
		l.epoch, l.acked = l.adopting, max(l.acked, l.sent)
		return ackNextEpoch
	case l.stage == linkUpToDate && z.Counter() != 0:
		// An ACK of a Warren server covers all proposals before it; others send one ACK for each, in order.
		if z > l.acked && (z > l.sent || !l.warren && !succeeds(l.acked, z)) {
			return ackUnexpected
		}
		l.acked = max(l.acked, z)
		return ackProposal
	case l.stage == linkUpToDate, l.stage == linkSynced:
		return ackNothing
	}
	return ackUnexpected
}

// ack counts an ACK of a learner.
func (ld *leader) ack(l *link, m *Message) {
	switch l.ack(m.Zxid, ld.epoch) {
	case ackNewLeader:
		if l.voter >= 0 {
			ld.synced = ld.synced.With(l.voter)
			ld.note(l)
		}
		if ld.established {
			ld.admit(l)
		} else {
			ld.establish()
		}
	case ackNextEpoch:
		if l.countsForNext() {
			ld.synced = ld.synced.With(l.voter)
		}
		if ld.renewal.epoch == 0 {
			ld.confirmNext(l)
		}
	case ackProposal:
		if l.voter >= 0 {
			ld.note(l)
		}
	case ackUnexpected:
		ld.closeLink(l)
	}
}

// note records how much of this epoch is durable at a voter.
func (ld *leader) note(l *link) {
	if l.acked.Epoch() == ld.epoch {
		ld.acked[l.voter] = max(ld.acked[l.voter], l.acked)
	}
}
