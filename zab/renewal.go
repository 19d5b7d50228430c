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

// waitsForNext reports whether a learner that has just connected has to wait for the next epoch, either because
// it could not follow in this one or because the next one is being prepared.
func (ld *leader) waitsForNext(l *link) bool {
	if ld.renewal.epoch != 0 {
		return true
	}
	return ld.stage >= leaderBarrier && !l.parted && l.accepted > ld.epoch && l.outran == ld.epoch && ld.quorumRenews()
}

// quorumRenews reports whether a quorum of servers that can take part is up to date.
func (ld *leader) quorumRenews() bool {
	return ld.voters.decides(ld.voting((*link).countsForNext).With(ld.self))
}

// canRenew reports whether a learner is up to date and can take part in a renewal.
func (l *link) canRenew() bool { return l.stage == linkUpToDate && l.lineage != nil }

// countsForNext reports whether a learner can take part in a renewal and its promise counts.
func (l *link) countsForNext() bool { return l.voter >= 0 && !l.observer && l.canRenew() }

// wantedNext returns the epoch in which the learners that wait for a renewal can follow, or a step towards it; 0 if
// none waits. A learner that has to wait for more than one step is told so after the first, and comes again.
func (ld *leader) wantedNext() (e int64) {
	for _, l := range ld.links {
		if l.stage == linkWaiting && !l.parted && l.lineage != nil && l.accepted > ld.epoch {
			e = max(e, min(l.accepted+1, ld.epoch+epochStep))
		}
	}
	return e
}

// renew takes the steps of a renewal that have become possible.
func (ld *leader) renew() {
	r := &ld.renewal
	switch {
	case r.epoch != 0 && r.begun:
		ld.establishNext()
	case r.epoch != 0:
		ld.collectNext()
	case r.wanted && ld.stage == leaderServing && !ld.handover.begun && ld.next == nil && ld.now >= ld.renewAfter &&
		!ld.synchronizes() && ld.quorumRenews():
		r.wanted = false
		if e := ld.wantedNext(); e > ld.epoch && e < epochMax-1 {
			*r = renewal{epoch: e, since: ld.now}
			ld.renewAfter = ld.now + int64(ld.cfg.Timing.TickTime)
			ld.log.persistAccepted(e)
		}
	}
	ld.offerNext(ld.renewal.epoch == 0)
}

// synchronizes reports whether a learner is being brought into the present epoch, from outside or from an earlier
// one: that ends before a renewal begins.
func (ld *leader) synchronizes() bool {
	return slices.ContainsFunc(ld.links, func(l *link) bool {
		return l.stage > linkWaiting && (l.stage < linkUpToDate || l.renewal != renewalNone)
	})
}

// collectNext asks for promises, and then for their confirmation.
func (ld *leader) collectNext() {
	r := &ld.renewal
	if ld.log.stable.epochs.Accepted != r.epoch {
		return
	}
	promised, ready := quorum.Set(0).With(ld.self), quorum.Set(0).With(ld.self)
	for _, l := range ld.links {
		if !l.countsForNext() {
			continue
		}
		switch l.renewal {
		case renewalNone:
			ld.invite(l, r.epoch)
			l.renewal = renewalAsked
		case renewalPromised, renewalAsking:
			promised = promised.With(l.voter)
		case renewalReady:
			promised, ready = promised.With(l.voter), ready.With(l.voter)
		}
	}
	if !ld.voters.decides(promised) {
		r.asked = false
		return
	}
	if !r.asked {
		r.asked, ready = true, 0
		for _, l := range ld.links {
			if l.countsForNext() && l.renewal >= renewalPromised {
				ld.invite(l, r.epoch)
				l.renewal = renewalAsking
			}
		}
	}
	ld.out.Renew = ld.voters.decides(ready) && ld.stage == leaderServing && !ld.handover.begun && ld.next == nil
}

// promiseNext handles an ACKEPOCH of a learner that is up to date. It reports whether the learner was asked
// for it.
func (l *link) promiseNext() bool {
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
	if c.role != Leading || r.epoch == 0 || r.begun || c.status.ended() {
		return
	}
	c.ld.collectNext()
	if !c.out.Renew {
		return
	}
	c.log.appendTail()
	c.stream() // all of the old epoch goes out before NEWLEADER
	r.begun, c.out.Renew = true, false
	c.epoch, ld.synced = r.epoch, 0
	c.log.persistCurrent(c.epoch, c.ld.reign())
	ld.proposed = proto.MakeZxid(c.epoch, 0)
	c.offerNext(ld.renewal.epoch == 0)
}

// establishNext ends the renewal when a quorum has adopted the history.
func (ld *leader) establishNext() {
	if ld.log.stable.epochs.Current == ld.epoch && ld.log.stable.last >= ld.log.lineage.base() {
		ld.synced = ld.synced.With(ld.self)
	}
	if !ld.synced.Has(ld.self) || !ld.voters.decides(ld.synced) {
		return
	}
	ld.renewal = renewal{}
	ld.log.committed = max(ld.log.last, ld.proposed)
	ld.vote.Epoch = ld.epoch
	ld.status.Epoch = ld.epoch
	ld.log.noteLineage(ld.log.lineage.settled(ld.log.committed))
	for _, l := range slices.Clone(ld.links) {
		switch {
		case l.stage == linkUpToDate && l.lineage == nil:
			ld.closeLink(l)
		case l.stage == linkUpToDate && l.epoch == ld.epoch:
			ld.confirmNext(l)
		}
	}
}

// offerNext leads learners that are up to date in an earlier epoch into the present one: followers that were
// slower than the quorum, and observers, including those of an observer master. Without all, only those whose promise
// counts: the others follow when the epoch is established.
func (ls *learners) offerNext(all bool) {
	e := ls.epoch
	if ls.log.stable.epochs.Accepted != e || ls.log.lineage.Epoch() != e {
		return // this server is not yet in that epoch either
	}
	base := ls.log.lineage.base()
	for _, l := range ls.links {
		if !ls.serves(l) || !l.canRenew() || l.epoch == e || l.renewal == renewalAdopting {
			continue
		}
		switch {
		case l.renewal == renewalNone:
			if !all && !l.countsForNext() {
				continue
			}
			ls.invite(l, e)
			l.renewal = renewalAsked
		case l.renewal == renewalAsked, l.observer && ls.shown() < base:
			continue
		default:
			ls.streamTo(l)
			l.send(Message{Type: NewLeader, Epoch: e, Zxid: proto.MakeZxid(e, 0),
				Config: ls.text, Active: ls.activeText(l), Lineage: ls.log.lineage})
			l.renewal, l.adopting = renewalAdopting, e
		}
	}
}

// confirmNext tells a learner that the epoch which it has adopted is established.
func (ls *learners) confirmNext(l *link) {
	if l.renewal == renewalAdopting {
		l.send(Message{Type: UpToDate, Zxid: -1, Final: ls.log.lineage.Final})
		l.renewal = renewalNone
		// The learner takes the history of the epoch for committed.
		l.committed = max(l.committed, min(l.sent, ls.log.lineage.base()))
	}
}

// sendable returns up to where proposals may be sent to a learner that is up to date: not beyond its own epoch, or
// beyond the history of the present one once it has promised that. A log that ends above acceptedEpoch is refused at
// a start.
func (ls *learners) sendable(l *link, upTo proto.Zxid) proto.Zxid {
	if l.epoch == ls.epoch || upTo.Epoch() <= l.epoch {
		return upTo
	}
	end := ls.log.lineage.base()
	if l.renewal < renewalPromised {
		end = min(end, proto.MakeZxid(l.epoch, math.MaxUint32))
	}
	return min(upTo, max(l.sent, end))
}

// tickRenewal gives the leadership up if a renewal takes too long: the new epoch was promised, so the old one
// cannot admit any server any more.
func (ld *leader) tickRenewal() bool {
	if r := &ld.renewal; r.epoch == 0 || ld.now-r.since <= int64(2*ld.cfg.Timing.TickTime) {
		return false
	}
	ld.stepDown("epoch %d could not be renewed as epoch %d", ld.status.Epoch, ld.renewal.epoch)
	return true
}

// The learner.

// promiseNext handles a LEADERINFO while this server follows and serves. It reports whether m was one. The promise
// leaves when it is durable.
func (ln *learner) promiseNext(m *Message) bool {
	if ln.stage != lnUpToDate || ln.lineage == nil || m.Epoch <= ln.epoch || m.Epoch >= epochMax ||
		m.Epoch < ln.log.epochs.Accepted || m.Epoch == ln.log.epochs.Accepted && m.Epoch != ln.renewal.next {
		return false
	}
	if m.Epoch > ln.log.epochs.Accepted {
		ln.log.persistAccepted(m.Epoch)
	}
	ln.renewal.next, ln.renewal.promises = m.Epoch, ln.renewal.promises+1
	return true
}

// settleNext sends the promise and the ACK of a follower or observer that have become true.
func (ln *learner) settleNext() {
	if ln.renewal.next == 0 {
		return
	}
	for ; ln.renewal.promises > 0 && ln.log.stable.epochs.Accepted == ln.renewal.next; ln.renewal.promises-- {
		ln.promise(ln.log.stable.ackEpoch(ln.renewal.next, false))
	}
	if ln.renewal.adopting && ln.log.stable.epochs.Current == ln.renewal.next && ln.log.stable.last >= ln.history {
		ln.promise(ln.log.stable.ackNewLeader(ln.renewal.next, ln.history))
		ln.renewal.adopting = false
	}
}

// adoptNext adopts the next epoch of the leader: its history is the one that this server has.
func (ln *learner) adoptNext(m *Message) {
	next := ln.renewal.next
	if next == 0 || m.Epoch != next || m.Lineage == nil || m.Lineage.Epoch() != next || ln.renewal.adopting ||
		m.Lineage.base() != ln.log.window.last() {
		ln.leave("leader %d sent NEWLEADER of epoch %d out of turn", ln.master, m.Epoch)
		return
	}
	ln.log.appendTail()
	ln.history, ln.renewal.adopting = ln.log.window.last(), true
	ln.log.persistCurrent(next, m.Lineage.settled(ln.log.lineage.Settled))
}

// enterNext begins the next epoch: a quorum has adopted it.
func (ln *learner) enterNext(m *Message) {
	if ln.log.epochs.Current != ln.renewal.next || ln.renewal.adopting {
		ln.leave("leader %d sent UPTODATE before the ACK of NEWLEADER", ln.master)
		return
	}
	ln.epoch, ln.renewal.next = ln.renewal.next, 0
	ln.committed = max(ln.committed, ln.history)
	ln.acked = max(ln.acked, proto.MakeZxid(ln.epoch, 0))
	ln.log.committed = ln.committed
	ln.vote.Epoch = ln.epoch
	ln.status.Epoch = ln.epoch
	ln.nameLeader(ln.log.lineage)
	ln.log.noteLineage(ln.log.lineage.settled(max(ln.committed, proto.MakeZxid(ln.epoch, 0))).
		identified(ln.log.lineage.Ensemble, m.Final))
	for _, l := range slices.Clone(ln.links) {
		if l.master &&
			(l.stage > linkWaiting && l.stage < linkUpToDate || l.stage == linkUpToDate && l.lineage == nil) {
			ln.closeLink(l) // the observer is being brought into the old epoch, or cannot follow
		}
	}
}
