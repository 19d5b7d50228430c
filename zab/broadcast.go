package zab

import (
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// countAcks commits, in order, every proposal that a quorum has made durable.
func (c *Core) countAcks() {
	ld := &c.ld
	n := len(c.voters.ids)
	best := c.log.committed
	for i := range n {
		z := ld.acked[i]
		if z <= best || z > ld.proposed {
			continue
		}
		var s quorum.Set
		for j := range n {
			if ld.acked[j] >= z {
				s = s.With(j)
			}
		}
		if c.voters.decides(s) {
			best = z
		}
	}
	if c.pendingTxn() && best >= c.next.Version {
		if !c.next.Votes(c.cfg.ID) && c.log.stable.last < c.next.Version {
			return // the last action of this leader is to answer the server that asked for the reconfiguration
		}
		c.log.committed = c.next.Version // no txn follows the reconfiguration
		c.reconfigured()
		return
	}
	c.log.committed = best
	if ld.stage == leaderBarrier && best.Counter() > 0 {
		ld.stage = leaderServing
		c.status.Serving = true
	}
}

// stream sends every learner that is up to date the proposals and commits that are new.
func (c *Core) stream() {
	if c.role != Leading && !c.masters() {
		return
	}
	for _, l := range c.links {
		if l.stage == linkUpToDate {
			c.streamTo(l)
		}
	}
}

// streamTo sends a learner the proposals and commits that it lacks, or INFORM to an observer.
func (c *Core) streamTo(l *link) {
	r := c.reconfig
	if l.renewal == renewalAdopting {
		return // nothing between NEWLEADER and UPTODATE
	}
	switch {
	case l.observer:
		shown := c.limit(l, c.shown())
		for len(l.answers) > 0 && l.answers[0].after <= shown {
			c.informTo(l, l.answers[0].after)
			c.send(Message{Type: SyncReply, To: l.peer, Link: l.id, Token: l.answers[0].token})
			l.answers = l.answers[1:]
		}
		c.informTo(l, shown)
	default:
		// Commits first: no server then has a txn behind the reconfiguration without knowing that it is
		// committed.
		if r > l.committed && r <= c.limit(l, c.log.committed) {
			c.propose(l, r)
			c.commitTo(l, r-1)
			c.send(Message{Type: Activate, To: l.peer, Link: l.id, Zxid: r, Leader: c.designated})
			l.committed = r
		}
		c.propose(l, c.limit(l, c.log.window.last()))
		c.commitTo(l, min(c.log.committed, l.sent))
		for len(l.answers) > 0 && l.epoch == c.epoch &&
			l.answers[0].after <= max(l.committed, proto.MakeZxid(l.epoch, 0)) {
			c.send(Message{Type: SyncReply, To: l.peer, Link: l.id, Token: l.answers[0].token})
			l.answers = l.answers[1:]
		}
	}
}

// informTo sends an observer the committed txns up to upTo, and the reconfiguration if it is among them.
func (c *Core) informTo(l *link, upTo proto.Zxid) {
	if r := c.reconfig; r > l.sent && r <= upTo {
		c.informUpTo(l, r-1)
		c.send(Message{Type: InformActive, To: l.peer, Link: l.id, Zxid: r, Txns: c.log.window.between(r-1, r),
			Leader: c.designated})
		l.sent = r
	}
	c.informUpTo(l, upTo)
}

// informUpTo sends an observer the committed txns up to upTo.
func (c *Core) informUpTo(l *link, upTo proto.Zxid) {
	for _, t := range batches(c.log.window.between(l.sent, upTo), l.warren) {
		c.send(Message{Type: Inform, To: l.peer, Link: l.id, Txns: t})
		l.sent = t[len(t)-1].Zxid
	}
}

// propose sends a learner the proposals up to upTo.
func (c *Core) propose(l *link, upTo proto.Zxid) {
	for _, t := range batches(c.log.window.between(l.sent, upTo), l.warren) {
		c.send(Message{Type: Proposal, To: l.peer, Link: l.id, Txns: t})
		l.sent = t[len(t)-1].Zxid
	}
}

// commitTo sends a learner the commits up to upTo, of proposals that it was sent already.
func (c *Core) commitTo(l *link, upTo proto.Zxid) {
	if upTo <= l.committed {
		return
	}
	txns := c.log.window.between(l.committed, upTo)
	if len(txns) == 0 {
		return
	}
	if l.warren {
		txns = txns[len(txns)-1:]
	}
	for i := range txns {
		c.send(Message{Type: Commit, To: l.peer, Link: l.id, Zxid: txns[i].Zxid})
	}
	l.committed = txns[len(txns)-1].Zxid
}

// keep returns the zxid up to which the window may be trimmed: no learner still has to be sent a txn up to it.
func (c *Core) keep() proto.Zxid {
	keep := proto.Zxid(math.MaxInt64)
	if c.role == Leading {
		keep = c.top()
	}
	for _, l := range c.links {
		if l.stage < linkSyncing {
			continue
		}
		keep = min(keep, l.sent)
		if !l.observer {
			keep = min(keep, l.committed)
		}
	}
	return keep
}

// tickLeader sends pings, closes silent links and gives up without a quorum. Source: quorum-protocol 10.1.
func (c *Core) tickLeader() {
	ld := &c.ld
	t := &c.cfg.Timing
	if ld.stage < leaderBarrier && c.now-ld.since > int64(ld.limit) {
		c.stepDown("no quorum in %v of epoch %d within %s", c.phase, c.epoch, t.told(int64(ld.limit)))
		return
	}
	if ld.stage == leaderPromising || ld.stage == leaderSyncing {
		// A follower that leaves in the middle finds no quorum that follows, and cannot come back. So a new
		// election is quicker than to wait for the end of the limit.
		if c.voters.decides(c.connected()) {
			ld.together = c.now
		} else if c.now-ld.together > int64(t.TickTime) {
			c.stepDown("the quorum in %v of epoch %d is gone", c.phase, c.epoch)
			return
		}
	}
	if c.tickHandOver() || c.tickRenewal() {
		return
	}
	syncLimit := int64(t.SyncLimit * t.TickTime)
	ping := c.now%int64(t.TickTime/2) == 0
	for _, l := range slices.Backward(c.links) {
		if c.now-l.heard > int64(c.learnerLimit(l)) || ping && c.lags(l, syncLimit) {
			c.closeLink(l)
			continue
		}
		if ping && l.stage >= linkSyncing {
			c.pingTo(l)
		}
	}
	if ld.stage < leaderBarrier {
		return
	}
	limit := int64(t.QuorumLimit)
	silent := limit > 0 && !c.voters.decides(c.followers(c.now-limit))
	switch {
	case !silent && c.now%int64(t.TickTime) != 0:
	case !c.voters.decides(c.followers(0)):
		c.stepDown("the followers of epoch %d are no quorum any more", c.epoch)
	case silent:
		c.stepDown("no quorum of followers of epoch %d was heard for %s", c.epoch, t.told(limit))
	}
}

// followers returns the voters that follow this leader and were heard at a tick or later, and this server.
func (c *Core) followers(since int64) quorum.Set {
	s := quorum.Set(0).With(c.self)
	for _, l := range c.links {
		if l.voter >= 0 && l.stage >= linkSynced && !l.observer && l.heard >= since {
			s = s.With(l.voter)
		}
	}
	return s
}

// learnerLimit is how many ticks a learner may be silent.
func (c *Core) learnerLimit(l *link) int {
	t := &c.cfg.Timing
	if l.stage == linkUpToDate {
		return t.SyncLimit * t.TickTime
	}
	return t.InitLimit * t.TickTime
}

// connected returns the voters with a link, and this server.
func (c *Core) connected() quorum.Set {
	s := quorum.Set(0).With(c.self)
	for _, l := range c.links {
		if l.voter >= 0 && l.stage >= linkWaiting && l.accepted <= c.epoch {
			s = s.With(l.voter)
		}
	}
	return s
}

func (c *Core) pingTo(l *link) {
	newest := c.ld.proposed
	if l.master {
		newest = c.log.delivered
	}
	c.send(Message{Type: Ping, To: l.peer, Link: l.id, Zxid: newest})
	if l.stage == linkUpToDate {
		l.pings++ // a learner ignores PING before UPTODATE
	}
}

// lags reports whether a proposal was sent to a voter syncLimit ago and is not acknowledged.
func (c *Core) lags(l *link, syncLimit int64) bool {
	if l.stage != linkUpToDate || l.observer || l.acked >= l.mark || l.mark.Epoch() != c.epoch {
		l.mark, l.marked = l.sent, c.now
		return false
	}
	return c.now-l.marked > syncLimit
}
