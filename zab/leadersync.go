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
func (c *Core) plan(p proto.Zxid) plan {
	w := &c.log.window
	top := c.top()
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
		return c.planAt(p, at, w.txns[i].Zxid, at)
	case p < w.before:
		at, next, ok := c.cfg.History.Locate(p)
		if ok && next != 0 && at <= p && p < next && next <= w.before {
			return c.planAt(p, at, next, w.before)
		}
	}
	return c.whole()
}

// whole returns the plan to send everything.
func (c *Core) whole() plan {
	return plan{op: Snap, zxid: c.log.delivered, base: c.log.delivered, replay: c.log.delivered}
}

// top returns the last txn that a learner may take for committed. Until the epoch is established that is the end
// of the history: the learner acts on it after UPTODATE only.
func (c *Core) top() proto.Zxid {
	if !c.established {
		return c.log.window.last()
	}
	if i := c.log.window.above(c.shown()); i > 0 {
		return c.log.window.txns[i-1].Zxid
	}
	return c.log.window.before
}

// planAt decides for a learner at p, where at is the last txn of the history that is not above p, and next the
// first above it.
func (c *Core) planAt(p, at, next, replay proto.Zxid) plan {
	switch {
	case at == p:
		return plan{op: Diff, zxid: c.top(), base: p, replay: max(p, replay)}
	case p.Counter() == 0 && next.Counter() == 1:
		return plan{op: Diff, zxid: c.top(), base: p, replay: max(p, replay)}
	case next.Epoch() == p.Epoch() && at.Epoch() == p.Epoch():
		return plan{op: Trunc, zxid: at, base: at, replay: max(at, replay)}
	}
	return c.whole()
}

// startSync begins to send a learner all that it lacks. Source: quorum-protocol 6.4.
func (c *Core) startSync(l *link) {
	if c.compare(l); l.parted {
		c.invite(l, c.epoch)
		return
	}
	pl := c.plan(l.position)
	if c.top() != 0 && (c.cfg.Whole || l.asksAll || l.ackEpoch == -1 && l.position == 0) {
		pl = c.whole() // the learner has asked for it, or has nothing
	}
	if !c.maySync(l, pl.op == Snap) {
		c.out.Throttled = append(c.out.Throttled, l.id)
		c.closeLink(l)
		return
	}
	l.base, l.whole = pl.base, pl.op == Snap
	if l.voter >= 0 && c.ld.acked[l.voter] > l.base {
		// Txns that the learner is about to cut, or has lost, must not be counted as durable there.
		c.ld.acked[l.voter] = l.base
	}
	m := Message{Type: pl.op, To: l.peer, Link: l.id, Zxid: pl.zxid}
	if l.lineage != nil && pl.op != Snap {
		var sums Sums
		sums, m.Summed = c.sums(pl.base)
		if m.Sum = sums.Whole; sums.Bare != sums.Whole {
			m.Bare = sums.Bare
		}
	}
	c.send(m)
	if pl.op == Snap {
		l.stage = linkStreaming
		return
	}
	c.sendHistory(l, pl.replay)
}

// maySync reports whether one more learner may be brought up to date. Observers wait for each other: if many of
// them reconnect at once the leader still has time for the voters. Source: quorum-protocol 6.5.
func (c *Core) maySync(l *link, whole bool) bool {
	limit := c.cfg.Limits.DiffSyncsMax
	if whole {
		limit = c.cfg.Limits.SnapSyncsMax
	}
	snaps, diffs := c.Syncing()
	return !l.observer || l.voter >= 0 || limit == 0 || !whole && diffs < limit || whole && snaps < limit
}

// Syncing returns how many learners this server is bringing up to date, by SNAP and otherwise: those that have
// not acknowledged NEWLEADER yet.
func (c *Core) Syncing() (snaps, diffs int) {
	for _, l := range c.links {
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
	i := c.linkIndex(id)
	if i < 0 || c.links[i].stage != linkStreaming || !c.serves(c.links[i]) {
		return
	}
	if upTo > c.log.window.last() {
		violated("the snapshot for server %d has %v, but the history ends at %v", c.links[i].peer,
			upTo, c.log.window.last())
	}
	c.links[i].heard = c.now
	c.sendHistory(c.links[i], max(c.links[i].base, c.log.window.before))
}

// sendHistory sends the messages after DIFF, TRUNC or SNAP: first txns of the log on disk up to replay, then
// those of the window, and NEWLEADER. Later proposals and commits are held back until UPTODATE was sent, because
// some Java followers fail on them before (R5).
func (c *Core) sendHistory(l *link, replay proto.Zxid) {
	if l.master && c.lag(replay) > c.cfg.Limits.LagBytes {
		replay = c.top() // all of it is in the log here
	}
	if replay > l.base {
		c.send(Message{Type: Replay, To: l.peer, Link: l.id, After: l.base, Zxid: replay})
	}
	l.sent, l.committed = replay, replay
	for _, t := range batches(c.log.window.between(l.sent, c.top()), l.warren) {
		c.send(Message{Type: Proposal, To: l.peer, Link: l.id, Txns: t})
		c.send(Message{Type: Commit, To: l.peer, Link: l.id, Zxid: t[len(t)-1].Zxid})
		l.sent = t[len(t)-1].Zxid
		l.committed = l.sent
	}
	if !l.observer {
		c.propose(l, c.log.window.last())
	}
	m := Message{Type: NewLeader, To: l.peer, Link: l.id, Epoch: c.epoch, Zxid: proto.MakeZxid(c.epoch, 0),
		Config: c.text}
	if c.next != nil && !c.established { // later the reconfiguration is only a proposal, and is sent as one
		m.Config = c.next.Wire()
	}
	m.Active = c.activeText(l)
	if l.lineage != nil {
		m.Lineage = c.log.lineage
	}
	c.send(m)
	l.stage, l.epoch = linkSyncing, c.epoch
	l.mark, l.marked = l.sent, c.now
}

// activeText returns the text of the committed configuration, which NEWLEADER carries beside the last one of the
// history.
func (c *Core) activeText(l *link) []byte {
	if l.warren && c.cfg.Roster != nil {
		return c.text
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
func (c *Core) upToDateTo(l *link) {
	c.send(Message{Type: UpToDate, To: l.peer, Link: l.id, Zxid: -1, Final: l.lineage != nil && c.log.lineage.Final})
	l.stage = linkUpToDate
}

// ack handles an ACK. Source: quorum-protocol 6.6, 7.2.
func (c *Core) ack(l *link, m *Message) {
	switch {
	case l.stage == linkSyncing:
		if m.Zxid != proto.MakeZxid(c.epoch, 0) {
			return // an early ACK of a history txn, not of NEWLEADER (R4)
		}
		c.ackNewLeader(l)
	case l.renewal == renewalAdopting && l.epoch != l.adopting && m.Zxid == proto.MakeZxid(l.adopting, 0):
		c.adoptedRenewal(l)
	case l.stage == linkUpToDate && m.Zxid.Counter() != 0:
		c.ackProposal(l, m.Zxid)
	case l.stage == linkUpToDate, l.stage == linkSynced:
		// The ACK of UPTODATE, or an early one.
	default:
		c.closeLink(l)
	}
}

func (c *Core) ackNewLeader(l *link) {
	l.stage = linkSynced
	// A Warren learner has made durable all that came before NEWLEADER. For other learners only the committed
	// part is certain; they acknowledge the open proposals one by one.
	l.acked = max(l.base, l.committed)
	if l.warren {
		l.acked = max(l.acked, l.sent)
	}
	if l.voter >= 0 {
		c.ld.synced = c.ld.synced.With(l.voter)
		c.note(l)
	}
	if c.established {
		c.admit(l)
	} else {
		c.establish()
	}
}

// ackProposal notes that a learner has a proposal. An ACK of a Warren server covers all proposals before it;
// others send one ACK for each, in order.
func (c *Core) ackProposal(l *link, z proto.Zxid) {
	if z <= l.acked {
		return
	}
	if z > l.sent || !l.warren && !succeeds(l.acked, z) {
		c.closeLink(l)
		return
	}
	l.acked = z
	if l.voter >= 0 {
		c.note(l)
	}
}

// note records how much of this epoch is durable at a voter.
func (c *Core) note(l *link) {
	if l.acked.Epoch() == c.epoch {
		c.ld.acked[l.voter] = max(c.ld.acked[l.voter], l.acked)
	}
}
