package zab

import (
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// Renewal: an established leader begins a new epoch while it serves, on the connections that it has. It does so
// for a server that promised an epoch above that of the leader, to a leader that was never established: such a
// server can follow only in an epoch above its promise. No election is held, no client is disconnected, and
// proposals pause for one round trip to a quorum. Source: adr 0012.
//
// The steps are those of discovery and synchronization, among servers that have the same history:
//
//   1. The leader promises the new epoch to itself. It asks its followers for their promise with LEADERINFO, then
//      for the confirmation of the promise (see blank.go). Proposals of the old epoch go on meanwhile: the same
//      server leads the new epoch, so nothing that is acknowledged after a promise can be missing in its history.
//   2. When a quorum has confirmed, Output.Renew asks the host to call Renew as soon as it has proposed all that
//      it has numbered. Renew decides the history of the new epoch: it is all that this leader has proposed.
//   3. After the last proposal of the old epoch the leader sends NEWLEADER. A follower acknowledges it when the
//      history, and then the epoch with the new lineage, is durable. When a quorum has acknowledged it, the epoch
//      is established and proposals go on.
//   4. A slower follower, and an observer, goes through the same steps on its own. It is sent nothing of the new
//      epoch before it has acknowledged NEWLEADER. An observer is first sent all of the old epoch, which is
//      committed by then.
//
// Only servers with a lineage take part. The connections of others end when the epoch is established, and these
// servers connect again. Without a quorum of servers with a lineage there is no renewal, and the server that has
// promised the later epoch stays outside until the next election.

// renewal is the progress of a leader with the next epoch.
type renewal struct {
	wanted bool  // a server waits for a later epoch
	epoch  int64 // the epoch that is prepared or adopted; 0 if none is
	since  int64 // tick at which the present step began
	asked  bool  // a quorum has promised, and was asked for confirmation
	begun  bool  // the history is decided and NEWLEADER was sent
}

// linkRenewal is the progress of a learner that is up to date with the next epoch.
type linkRenewal uint8

const (
	renewalNone     linkRenewal = iota
	renewalAsked                // LEADERINFO was sent
	renewalPromised             // ACKEPOCH was received
	renewalAsking               // LEADERINFO was sent again
	renewalReady                // ACKEPOCH was received again
	renewalAdopting             // NEWLEADER was sent
)

// awaitsRenewal reports whether a learner that has just connected has to wait for the next epoch, either because
// it could not follow in this one or because the next one is being prepared.
func (c *Core) awaitsRenewal(l *link) bool {
	ld := &c.ld
	if ld.renewal.epoch != 0 {
		return true
	}
	return ld.stage >= leaderBarrier && !l.parted && l.accepted > c.epoch && l.outran == c.epoch && c.renewable()
}

// renewable reports whether a quorum of servers that can take part is up to date.
func (c *Core) renewable() bool {
	able := quorum.Set(0).With(c.self)
	for _, l := range c.links {
		if l.decidesRenewal() {
			able = able.With(l.voter)
		}
	}
	return c.voters.decides(able)
}

// renews reports whether a learner is up to date and can take part in a renewal.
func (l *link) renews() bool { return l.stage == linkUpToDate && l.lineage != nil }

// decidesRenewal reports whether a learner can take part in a renewal and its promise counts.
func (l *link) decidesRenewal() bool { return l.voter >= 0 && !l.observer && l.renews() }

// wantedEpoch returns the epoch in which the learners that wait for a renewal can follow, or a step towards it; 0 if
// none waits. A learner that has to wait for more than one step is told so after the first, and comes again.
func (c *Core) wantedEpoch() (e int64) {
	for _, l := range c.links {
		if l.stage == linkWaiting && !l.parted && l.lineage != nil && l.accepted > c.epoch {
			e = max(e, min(l.accepted+1, c.epoch+epochStep))
		}
	}
	return e
}

// settleRenewal takes the steps of a renewal that have become possible.
func (c *Core) settleRenewal() {
	ld := &c.ld
	r := &ld.renewal
	switch {
	case r.epoch != 0 && r.begun:
		c.establishRenewal()
	case r.epoch != 0:
		c.prepareRenewal()
	case r.wanted && ld.stage == leaderServing && !ld.handing && c.next == nil && c.now >= c.renewAfter &&
		!c.synchronises() && c.renewable():
		r.wanted = false
		if e := c.wantedEpoch(); e > c.epoch && e < epochMax-1 {
			*r = renewal{epoch: e, since: c.now}
			c.renewAfter = c.now + int64(c.cfg.Timing.TickTime)
			c.log.persistAccepted(e)
		}
	}
	c.renewLearners()
}

// synchronises reports whether a learner is being brought into the present epoch, from outside or from an earlier
// one: that ends before a renewal begins.
func (c *Core) synchronises() bool {
	return slices.ContainsFunc(c.links, func(l *link) bool {
		return l.stage > linkWaiting && (l.stage < linkUpToDate || l.renewal != renewalNone)
	})
}

// prepareRenewal asks for promises, and then for their confirmation.
func (c *Core) prepareRenewal() {
	r := &c.ld.renewal
	if c.log.stable.epochs.Accepted != r.epoch {
		return
	}
	promised, ready := quorum.Set(0).With(c.self), quorum.Set(0).With(c.self)
	for _, l := range c.links {
		if !l.decidesRenewal() {
			continue
		}
		switch l.renewal {
		case renewalNone:
			c.invite(l, r.epoch)
			l.renewal = renewalAsked
		case renewalPromised, renewalAsking:
			promised = promised.With(l.voter)
		case renewalReady:
			promised, ready = promised.With(l.voter), ready.With(l.voter)
		}
	}
	if !c.voters.decides(promised) {
		r.asked = false
		return
	}
	if !r.asked {
		r.asked, ready = true, 0
		for _, l := range c.links {
			if l.decidesRenewal() && l.renewal >= renewalPromised {
				c.invite(l, r.epoch)
				l.renewal = renewalAsking
			}
		}
	}
	c.out.Renew = c.voters.decides(ready) && c.ld.stage == leaderServing && !c.ld.handing && c.next == nil
}

// renewalPromise handles an ACKEPOCH of a learner that is up to date. It reports whether the learner was asked
// for it.
func (l *link) renewalPromise() bool {
	switch l.renewal {
	case renewalAsked:
		l.renewal = renewalPromised
	case renewalAsking:
		l.renewal = renewalReady
	case renewalAdopting: // the ACKEPOCH is late: the epoch was decided without it
	default:
		return false
	}
	return true
}

// Renew begins the epoch that Output.Renew has announced. The host calls it when it has proposed every txn that
// it has numbered: the next one is numbered anew from NextZxid. It does nothing if there is no renewal any more.
func (c *Core) Renew() {
	ld := &c.ld
	r := &ld.renewal
	if c.role != Leading || r.epoch == 0 || r.begun || c.status.Stopped || c.status.Fatal != nil {
		return
	}
	c.prepareRenewal()
	if !c.out.Renew {
		return
	}
	c.log.appendTail()
	c.stream() // all of the old epoch goes out before NEWLEADER
	r.begun, c.out.Renew = true, false
	c.epoch, ld.synced = r.epoch, 0
	c.log.persistCurrent(c.epoch, c.reign())
	ld.proposed = proto.MakeZxid(c.epoch, 0)
	c.renewLearners()
}

// establishRenewal ends the renewal when a quorum has adopted the history.
func (c *Core) establishRenewal() {
	ld := &c.ld
	if c.log.stable.epochs.Current == c.epoch && c.log.stable.last >= c.log.lineage.base() {
		ld.synced = ld.synced.With(c.self)
	}
	if !ld.synced.Has(c.self) || !c.voters.decides(ld.synced) {
		return
	}
	ld.renewal = renewal{}
	c.log.committed = max(c.log.last, ld.proposed)
	c.vote.Epoch = c.epoch
	c.status.Epoch = c.epoch
	c.log.noteLineage(c.log.lineage.settled(c.log.committed))
	for _, l := range slices.Clone(c.links) {
		switch {
		case l.stage == linkUpToDate && l.lineage == nil:
			c.closeLink(l)
		case l.stage == linkUpToDate && l.epoch == c.epoch:
			c.renewed(l)
		}
	}
}

// renewLearners leads learners that are up to date in an earlier epoch into the present one: followers that were
// slower than the quorum, and observers, including those of an observer master.
func (c *Core) renewLearners() {
	e := c.epoch
	if c.log.stable.epochs.Accepted != e || c.log.lineage.Epoch() != e {
		return // this server is not yet in that epoch either
	}
	base := c.log.lineage.base()
	for _, l := range c.links {
		if !c.serves(l) || !l.renews() || l.epoch == e || l.renewal == renewalAdopting {
			continue
		}
		switch {
		case l.renewal == renewalNone:
			if c.role == Leading && c.ld.renewal.epoch != 0 && !l.decidesRenewal() {
				continue // it follows when the epoch is established
			}
			c.invite(l, e)
			l.renewal = renewalAsked
		case l.renewal == renewalAsked, l.observer && c.shown() < base:
			continue
		default:
			c.streamTo(l)
			c.send(Message{Type: NewLeader, To: l.peer, Link: l.id, Epoch: e, Zxid: proto.MakeZxid(e, 0),
				Config: c.text, Active: c.activeText(l), Lineage: c.log.lineage})
			l.renewal, l.adopting = renewalAdopting, e
		}
	}
}

// adoptedRenewal handles the ACK of NEWLEADER of a learner that was up to date in an earlier epoch. An observer master
// may have gone on to a later epoch meanwhile, into which the observer is led next.
func (c *Core) adoptedRenewal(l *link) {
	l.epoch, l.acked = l.adopting, max(l.acked, l.sent)
	if l.decidesRenewal() && c.role == Leading {
		c.ld.synced = c.ld.synced.With(l.voter)
	}
	if c.role != Leading || c.ld.renewal.epoch == 0 {
		c.renewed(l)
	}
}

// renewed tells a learner that the epoch which it has adopted is established.
func (c *Core) renewed(l *link) {
	if l.renewal == renewalAdopting {
		c.send(Message{Type: UpToDate, To: l.peer, Link: l.id, Zxid: -1, Final: c.log.lineage.Final})
		l.renewal = renewalNone
		// The learner takes the history of the epoch for committed.
		l.committed = max(l.committed, min(l.sent, c.log.lineage.base()))
	}
}

// limit returns up to where proposals may be sent to a learner that is up to date: not beyond its own epoch, or beyond
// the history of the present one once it has promised that. A log that ends above acceptedEpoch is refused at a start.
func (c *Core) limit(l *link, upTo proto.Zxid) proto.Zxid {
	if l.epoch == c.epoch || upTo.Epoch() <= l.epoch {
		return upTo
	}
	end := c.log.lineage.base()
	if l.renewal < renewalPromised {
		end = min(end, proto.MakeZxid(l.epoch, math.MaxUint32))
	}
	return min(upTo, max(l.sent, end))
}

// tickRenewal gives the leadership up if a renewal takes too long: the new epoch was promised, so the old one
// cannot admit any server any more.
func (c *Core) tickRenewal() bool {
	if r := &c.ld.renewal; r.epoch == 0 || c.now-r.since <= int64(2*c.cfg.Timing.TickTime) {
		return false
	}
	c.stepDown("epoch %d could not be renewed as epoch %d", c.status.Epoch, c.ld.renewal.epoch)
	return true
}

// The learner.

// renewing handles a LEADERINFO while this server follows and serves. It reports whether m was one. The promise
// leaves when it is durable.
func (c *Core) renewing(m *Message) bool {
	ln := &c.ln
	if ln.stage != lnUpToDate || ln.lineage == nil || m.Epoch <= c.epoch || m.Epoch >= epochMax ||
		m.Epoch < c.log.epochs.Accepted || m.Epoch == c.log.epochs.Accepted && m.Epoch != ln.next {
		return false
	}
	if m.Epoch > c.log.epochs.Accepted {
		c.log.persistAccepted(m.Epoch)
	}
	ln.next, ln.promises = m.Epoch, ln.promises+1
	return true
}

// settleRenewing sends the promise and the ACK of a follower or observer that have become true.
func (c *Core) settleRenewing() {
	ln := &c.ln
	if ln.next == 0 {
		return
	}
	for ; ln.promises > 0 && c.log.stable.epochs.Accepted == ln.next; ln.promises-- {
		c.promise(ln.link, ln.master, c.log.stable.ackEpoch(ln.next, false))
	}
	if ln.adopting && c.log.stable.epochs.Current == ln.next && c.log.stable.last >= ln.history {
		c.promise(ln.link, ln.master, c.log.stable.ackNewLeader(ln.next, ln.history))
		ln.adopting = false
	}
}

// renewEpoch adopts the next epoch of the leader: its history is the one that this server has.
func (c *Core) renewEpoch(m *Message) {
	ln := &c.ln
	if ln.next == 0 || m.Epoch != ln.next || m.Lineage == nil || m.Lineage.Epoch() != ln.next || ln.adopting ||
		m.Lineage.base() != c.log.window.last() {
		c.leave("leader %d sent NEWLEADER of epoch %d out of turn", ln.master, m.Epoch)
		return
	}
	c.log.appendTail()
	ln.history, ln.adopting = c.log.window.last(), true
	next := *m.Lineage
	c.log.persistCurrent(ln.next, next.settled(c.log.lineage.Settled))
}

// renewalEnds begins the next epoch: a quorum has adopted it.
func (c *Core) renewalEnds(m *Message) {
	ln := &c.ln
	if c.log.epochs.Current != ln.next || ln.adopting {
		c.leave("leader %d sent UPTODATE before the ACK of NEWLEADER", ln.master)
		return
	}
	c.epoch, ln.next = ln.next, 0
	ln.committed = max(ln.committed, ln.history)
	ln.acked = max(ln.acked, proto.MakeZxid(c.epoch, 0))
	c.log.committed = ln.committed
	c.vote.Epoch = c.epoch
	c.status.Epoch = c.epoch
	c.nameLeader(c.log.lineage)
	c.log.noteLineage(c.log.lineage.settled(max(ln.committed, proto.MakeZxid(c.epoch, 0))).
		identified(c.log.lineage.Ensemble, m.Final))
	for _, l := range slices.Clone(c.links) {
		if l.master &&
			(l.stage > linkWaiting && l.stage < linkUpToDate || l.stage == linkUpToDate && l.lineage == nil) {
			c.closeLink(l) // the observer is being brought into the old epoch, or cannot follow
		}
	}
}
