package zab

import (
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// countAcks commits, in order, every proposal that a quorum has made durable.
func (ld *leader) countAcks() {
	n := len(ld.voters.ids)
	best := ld.log.committed
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
		if ld.voters.decides(s) {
			best = z
		}
	}
	if ld.pendingTxn() && best >= ld.next.Version {
		if !ld.next.Votes(ld.cfg.ID) && ld.log.stable.last < ld.next.Version {
			return // the last action of this leader is to answer the server that asked for the reconfiguration
		}
		ld.log.committed = ld.next.Version // no txn follows the reconfiguration
		ld.reconfigured()
		return
	}
	ld.log.committed = best
	if ld.stage == leaderBarrier && best.Counter() > 0 {
		ld.stage = leaderServing
		ld.status.Serving = true
	}
}

// stream sends every learner that is up to date the proposals and commits that are new.
func (ls *learners) stream() {
	if ls.role != Leading && !ls.masters() {
		return
	}
	for _, l := range ls.links {
		if l.stage == linkUpToDate {
			ls.streamTo(l)
		}
	}
}

// streamTo sends a learner the proposals and commits that it lacks, or INFORM to an observer.
func (ls *learners) streamTo(l *link) {
	r := ls.reconfig
	if l.renewal == renewalAdopting {
		return // nothing between NEWLEADER and UPTODATE
	}
	switch {
	case l.observer:
		shown := ls.sendable(l, ls.shown())
		for len(l.answers) > 0 && l.answers[0].after <= shown {
			ls.informTo(l, l.answers[0].after)
			l.send(Message{Type: SyncReply, Token: l.answers[0].token})
			l.answers = l.answers[1:]
		}
		ls.informTo(l, shown)
	default:
		// Commits first: no server then has a txn behind the reconfiguration without knowing that it is
		// committed.
		if r > l.committed && r <= ls.sendable(l, ls.log.committed) {
			l.propose(&ls.log.window, r)
			l.commitTo(&ls.log.window, r-1)
			l.send(Message{Type: Activate, Zxid: r, Leader: ls.designated})
			l.committed = r
		}
		l.propose(&ls.log.window, ls.sendable(l, ls.log.window.last()))
		l.commitTo(&ls.log.window, min(ls.log.committed, l.sent))
		for len(l.answers) > 0 && l.epoch == ls.epoch &&
			l.answers[0].after <= max(l.committed, proto.MakeZxid(l.epoch, 0)) {
			l.send(Message{Type: SyncReply, Token: l.answers[0].token})
			l.answers = l.answers[1:]
		}
	}
}

// informTo sends an observer the committed txns up to upTo, and the reconfiguration if it is among them.
func (ls *learners) informTo(l *link, upTo proto.Zxid) {
	if r := ls.reconfig; r > l.sent && r <= upTo {
		l.informUpTo(&ls.log.window, r-1)
		l.send(Message{Type: InformActive, Zxid: r, Txns: ls.log.window.between(r-1, r),
			Leader: ls.designated})
		l.sent = r
	}
	l.informUpTo(&ls.log.window, upTo)
}

// informUpTo sends an observer the committed txns of w up to upTo.
func (l *link) informUpTo(w *window, upTo proto.Zxid) {
	for _, t := range batches(w.between(l.sent, upTo), l.warren) {
		l.send(Message{Type: Inform, Txns: t})
		l.sent = t[len(t)-1].Zxid
	}
}

// propose sends a learner the proposals of w up to upTo.
func (l *link) propose(w *window, upTo proto.Zxid) {
	for _, t := range batches(w.between(l.sent, upTo), l.warren) {
		l.send(Message{Type: Proposal, Txns: t})
		l.sent = t[len(t)-1].Zxid
	}
}

// commitTo sends a learner the commits of w up to upTo, of proposals that it was sent already.
func (l *link) commitTo(w *window, upTo proto.Zxid) {
	txns := w.between(l.committed, upTo)
	if len(txns) == 0 {
		return
	}
	if l.warren {
		txns = txns[len(txns)-1:]
	}
	for i := range txns {
		l.send(Message{Type: Commit, Zxid: txns[i].Zxid})
	}
	l.committed = txns[len(txns)-1].Zxid
}

// keep returns the zxid up to which the window may be trimmed: no learner still has to be sent a txn up to it.
func (ls *learners) keep() proto.Zxid {
	keep := proto.Zxid(math.MaxInt64)
	if ls.role == Leading {
		keep = ls.top()
	}
	for _, l := range ls.links {
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

// tick sends pings, closes silent links and gives up without a quorum. Source: quorum-protocol 10.1.
func (ld *leader) tick() {
	t := &ld.cfg.Timing
	if ld.stage < leaderBarrier && ld.now-ld.since > int64(ld.limit) {
		ld.stepDown("no quorum in %v of epoch %d within %s", ld.phase, ld.epoch, t.told(int64(ld.limit)))
		return
	}
	if ld.stage == leaderPromising || ld.stage == leaderSyncing {
		// A follower that leaves in the middle finds no quorum that follows, and cannot come back. So a new
		// election is quicker than to wait for the end of the limit.
		if ld.voters.decides(ld.connected()) {
			ld.together = ld.now
		} else if ld.now-ld.together > int64(t.TickTime) {
			ld.stepDown("the quorum in %v of epoch %d is gone", ld.phase, ld.epoch)
			return
		}
	}
	if ld.tickHandOver() || ld.tickRenewal() {
		return
	}
	syncLimit := int64(t.SyncLimit * t.TickTime)
	ping := ld.now%int64(t.TickTime/2) == 0
	for _, l := range slices.Backward(ld.links) {
		if ld.now-l.heard > l.limit(t) || ping && ld.lags(l, syncLimit) {
			ld.closeLink(l)
			continue
		}
		if ping && l.stage >= linkSyncing {
			ld.pingTo(l)
		}
	}
	if ld.stage < leaderBarrier {
		return
	}
	limit := int64(t.QuorumLimit)
	silent := limit > 0 && !ld.voters.decides(ld.followers(ld.now-limit))
	switch {
	case !silent && ld.now%int64(t.TickTime) != 0:
	case !ld.voters.decides(ld.followers(0)):
		ld.stepDown("the followers of epoch %d are no quorum any more", ld.epoch)
	case silent:
		ld.stepDown("no quorum of followers of epoch %d was heard for %s", ld.epoch, t.told(limit))
	}
}

// followers returns the voters that follow this leader and were heard at a tick or later, and this server.
func (ld *leader) followers(since int64) quorum.Set {
	return ld.voting(func(l *link) bool {
		return l.stage >= linkSynced && !l.observer && l.heard >= since
	}).With(ld.self)
}

// limit is how many ticks a learner may be silent.
func (l *link) limit(t *Timing) int64 {
	if l.stage == linkUpToDate {
		return int64(t.SyncLimit * t.TickTime)
	}
	return int64(t.InitLimit * t.TickTime)
}

// connected returns the voters with a link, and this server.
func (ld *leader) connected() quorum.Set {
	return ld.voting(func(l *link) bool { return l.stage >= linkWaiting && l.accepted <= ld.epoch }).With(ld.self)
}

// voting returns the voters on links for which ok holds.
func (ld *leader) voting(ok func(*link) bool) (s quorum.Set) {
	for _, l := range ld.links {
		if l.voter >= 0 && ok(l) {
			s = s.With(l.voter)
		}
	}
	return s
}

func (ls *learners) pingTo(l *link) {
	newest := ls.proposed
	if l.master {
		newest = ls.log.delivered
	}
	l.send(Message{Type: Ping, Zxid: newest})
	if l.stage == linkUpToDate {
		l.pings++ // a learner ignores PING before UPTODATE
	}
}

// lags reports whether a proposal was sent to a voter syncLimit ago and is not acknowledged.
func (ld *leader) lags(l *link, syncLimit int64) bool {
	if l.stage != linkUpToDate || l.observer || l.acked >= l.mark || l.mark.Epoch() != ld.epoch {
		l.mark, l.marked = l.sent, ld.now
		return false
	}
	return ld.now-l.marked > syncLimit
}
