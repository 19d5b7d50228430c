package zab

import (
	"cmp"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// anyZxid stands before the first proposal after a snapshot: that proposal may have any zxid up to the one after
// the snapshot's.
const anyZxid proto.Zxid = -1

// syncBegins takes DIFF, TRUNC or SNAP. Source: quorum-protocol 6.8 S1, S2.
func (ln *learner) syncBegins(m *Message) {
	if ln.stage != lnPromised {
		ln.leave("leader %d sent %v out of turn", ln.master, m.Type)
		return
	}
	ln.stage = lnSyncing
	ln.sync = m.Type
	if ln.askedAll && m.Type != Snap && ln.log.last != 0 {
		ln.leave("leader %d sent %v where a snapshot was asked for", ln.master, m.Type)
		return
	}
	if m.Type != Snap && ln.lineage != nil && !ln.continues(m) {
		return
	}
	switch m.Type {
	case Trunc:
		if !ln.truncateTo(m.Zxid) {
			return
		}
	case Snap:
		if m.Zxid < 0 || m.Zxid.Epoch() > ln.epoch {
			ln.leave("leader %d of epoch %d sent a snapshot at %v", ln.master, ln.epoch, m.Zxid)
			return
		}
		ln.snap = m.Zxid
		ln.pending.reset(anyZxid)
		ln.committed = m.Zxid
		return
	}
	ln.pending.reset(ln.log.last)
	ln.committed = ln.log.last
}

// continues reports whether the last txn that this server is told to keep is known to be the same at a leader
// that keeps a lineage: by its checksum, or because both histories have gone through its epoch. If it is another
// txn, this server stays outside; if that is not known, this server asks for the whole state.
func (ln *learner) continues(m *Message) bool {
	base := ln.log.last
	if m.Type == Trunc {
		base = min(base, m.Zxid)
	}
	own, ok := ln.sums(base)
	theirs := Sums{m.Sum, cmp.Or(m.Bare, m.Sum)}
	switch ok = ok && m.Summed; {
	case ok && !own.same(theirs):
		ln.exposeStranger(ln.leader, base, ln.lineage)
		return false
	case !ok && base != 0 && !ln.log.lineage.shares(ln.lineage, base):
		ln.wantsAll = true
		ln.leave("it is not known whether txn %v of leader %d is that of this server", base, ln.master)
		return false
	}
	return true
}

// truncateTo cuts the log after z. If z itself is not in the log the histories part below it. Then truncateTo
// cuts the log at the last txn before z, and the next connection decides how to go on. Source: quorum-protocol
// 6.8 S2, B14.
//
// The history that the leader was elected with contains the part of this server's history of the same epoch up to
// the same zxid: nothing of that may be cut. A Java leader asks for such a cut all the same. It cuts to the end
// of the list of committed txns that it keeps in memory. In that list a txn that a follower was applying when its
// leader was lost comes after those that the follower then takes from its log. The txns between are committed,
// this server has acknowledged them, and Java would not send them again. So this server asks for the whole state
// instead.
func (ln *learner) truncateTo(z proto.Zxid) bool {
	if z > ln.log.last || z < 0 {
		ln.leave("leader %d truncates to %v, but the log ends at %v", ln.master, z, ln.log.last)
		return false
	}
	if committed := ln.log.lineage.Committed(); z < committed {
		ln.wantsAll = true
		ln.leave("leader %d truncates to %v, but all up to %v is committed", ln.master, z, committed)
		return false
	}
	if z < min(ln.log.last, ln.claimed) && ln.log.last.Epoch() == ln.claimed.Epoch() && ln.master == ln.leader {
		ln.wantsAll = true
		ln.leave("leader %d truncates to %v, but was elected with %v, which lies behind what is here",
			ln.master, z, ln.claimed)
		return false
	}
	at := z
	if !ln.log.window.holds(z) {
		var ok bool
		if at, _, ok = ln.cfg.History.Locate(z); !ok {
			ln.wantsAll = true
			ln.leave("leader %d truncates to %v, which is below the log", ln.master, z)
			return false
		}
	}
	ln.log.truncate(at)
	ln.unsee(at)
	if at != z {
		ln.leave("leader %d truncates to %v, but the log has %v before it", ln.master, z, at)
		return false
	}
	return true
}

// proposed handles PROPOSAL. Source: quorum-protocol 6.8 S3, 7.3.
func (ln *learner) proposed(m *Message) {
	if ln.stage == lnUpToDate && ln.role == Observing {
		return // an observer hears INFORM; Java ignores it as well
	}
	for _, t := range m.Txns {
		if !ln.receive(t) {
			return
		}
	}
}

// receive appends one txn to the history, or to the history that is to be adopted.
func (ln *learner) receive(t Txn) bool {
	e, err := ln.reconfigures(t)
	if err == nil && e != nil && e.Version != t.Zxid {
		err = fmt.Errorf("zab: it has version %v", e.Version)
	}
	if err != nil {
		ln.leave("leader %d proposes %v, a reconfiguration that cannot be followed: %v", ln.master, t.Zxid, err)
		return false
	}
	switch {
	case ln.stage >= lnSyncing && t.Zxid.Epoch() > ln.log.epochs.Accepted: // such a log is refused at a start
		ln.leave("leader %d of epoch %d proposes %v, but only epoch %d was accepted", ln.master, ln.epoch, t.Zxid,
			ln.log.epochs.Accepted)
		return false
	case ln.stage == lnSyncing:
		if ln.pending.before == anyZxid && len(ln.pending.txns) == 0 {
			if t.Zxid > ln.snap && !succeeds(ln.snap, t.Zxid) {
				ln.gap(ln.snap, t.Zxid)
				return false
			}
			ln.pending.before = t.Zxid - 1
			ln.pending.push(t)
			return true
		}
		if !ln.adjoins(ln.pending.last(), t.Zxid) {
			ln.gap(ln.pending.last(), t.Zxid)
			return false
		}
		ln.pending.push(t)
	case ln.stage >= lnAdopting:
		if last := ln.log.window.last(); !succeeds(last, t.Zxid) {
			ln.gap(last, t.Zxid)
			return false
		}
		ln.log.window.add(t)
		ln.see(e)
	default:
		ln.leave("leader %d sent a proposal before synchronization", ln.master)
		return false
	}
	return true
}

// adjoins reports whether z may directly follow last in the history of the leader. Where an epoch begins no counter
// tells that txns are missing at the end of the one before; the lineage of the leader does.
func (ln *learner) adjoins(last, z proto.Zxid) bool {
	if ln.lineage != nil && z.Epoch() != last.Epoch() {
		i, ok := ln.lineage.reign(z.Epoch())
		if ok && ln.lineage.Reigns[i].Mark != 0 && ln.lineage.Reigns[i].Base != last {
			return false
		}
	}
	return succeeds(last, z)
}

// gap ends the connection to a leader whose proposals do not follow each other. During synchronization the next
// leader is asked for a snapshot; a serving leader that repeats or skips zxids is just left. Source:
// quorum-protocol 6.8 S3, R17.
func (ln *learner) gap(last, next proto.Zxid) {
	if ln.stage == lnSyncing {
		ln.wantsAll = true
	}
	ln.leave("leader %d proposes %v after %v", ln.master, next, last)
}

// commit handles COMMIT or COMMITANDACTIVATE, which names the oldest proposal that is not committed (from a
// Warren leader: the newest of several).
func (ln *learner) commit(m *Message, leader proto.ServerID) {
	if ln.stage == lnUpToDate && ln.role == Observing {
		return
	}
	w := &ln.log.window
	switch {
	case ln.stage == lnSyncing:
		w = &ln.pending
	case ln.stage < lnAdopting:
		ln.leave("leader %d sent a commit before synchronization", ln.master)
		return
	}
	if !ln.committable(w, m.Zxid) {
		ln.leave("leader %d commits %v after %v", ln.master, m.Zxid, ln.committed)
		return
	}
	ln.committed = max(ln.committed, m.Zxid)
	if ln.stage == lnUpToDate {
		ln.log.committed = ln.committed
		ln.activated(leader)
	}
}

// committable reports whether z is a proposal that was received and not committed, and for a leader that is not
// Warren the oldest such proposal. After SNAP, commits of txns that the snapshot holds are legal.
func (ln *learner) committable(w *window, z proto.Zxid) bool {
	if ln.stage == lnSyncing && ln.sync == Snap && z <= ln.snap {
		return len(w.txns) > 0 && w.holds(z)
	}
	i := w.above(ln.committed)
	j := w.above(z)
	if j <= i || w.txns[j-1].Zxid != z {
		return false
	}
	return ln.warren || j == i+1
}

// inform handles INFORM or INFORMANDACTIVATE: proposal and commit in one. An old leader may have sent the
// proposal already.
func (ln *learner) inform(m *Message, leader proto.ServerID) {
	if ln.role != Observing || ln.stage < lnSyncing {
		ln.leave("leader %d sent INFORM to a server that is %v", ln.master, ln.role)
		return
	}
	w := &ln.log.window
	if ln.stage == lnSyncing {
		w = &ln.pending
	}
	for _, t := range m.Txns {
		if i := w.above(ln.committed); !(i < len(w.txns) && w.txns[i].Zxid == t.Zxid) && !ln.receive(t) {
			return
		}
		ln.committed = max(ln.committed, t.Zxid)
	}
	if ln.stage == lnUpToDate {
		ln.log.committed = ln.committed
		ln.activated(leader)
	}
}

// newLeader adopts the history of the leader: all of it is made durable, then currentEpoch, and then it is
// acknowledged. The order is that of Persist. Source: quorum-protocol 6.8 S5.
func (ln *learner) newLeader(m *Message) {
	if ln.stage == lnUpToDate {
		ln.adoptNext(m)
		return
	}
	if ln.stage != lnSyncing || m.Epoch != ln.epoch {
		ln.leave("leader %d of epoch %d sent NEWLEADER of %d out of turn", ln.master, ln.epoch, m.Epoch)
		return
	}
	if last := ln.pending.last(); ln.sync != Snap && last < ln.claimed && ln.claimed.Counter() != 0 &&
		ln.master == ln.leader && ln.role == Following {
		// With counter 0 z is the start of an epoch, not a txn, and says nothing about the txns before it.
		ln.wantsAll = true
		ln.leave("leader %d ends its history with %v, but was elected with %v", ln.master, last, ln.claimed)
		return
	}
	last, committed := max(ln.pending.last(), ln.snap), ln.log.lineage.Committed()
	if last < committed {
		reason := describe("leader %d ends its history with %v, but all up to %v is committed", ln.master, last,
			committed)
		ln.refusedBy(reason, ln.lineage)
		ln.leave("%s", reason)
		return
	}
	lineage := ln.succession(m)
	ln.nameLeader(lineage)
	ln.doubt(m.Lineage)
	if ln.sync == Snap {
		if !ln.install() {
			return
		}
		ln.unsee(0) // the pending configuration belonged to a discarded history
	} else {
		for _, t := range ln.pending.txns {
			ln.log.window.add(t)
		}
	}
	ln.learn(m, ln.pending.txns)
	ln.forgetChecked()
	ln.pending = window{}
	ln.log.appendTail()
	if ln.epoch > ln.log.epochs.Current {
		ln.log.persistCurrent(ln.epoch, lineage)
	} else {
		ln.log.noteLineage(lineage)
	}
	ln.history, ln.adopts = ln.log.last, ln.log.writes.seq
	ln.stage = lnAdopting
	// The history needs no ACK of its own; proposals of this epoch do.
	ln.acked = max(ln.committed, proto.MakeZxid(ln.epoch, 0))
}

// doubt makes the disk say of the lineage only what holds of the history of the leader, too, before that history takes
// the place of the one that is here. A crash may leave a part of it. With the former lineage this server would claim
// for it, by the marks of epochs, that it is the same as the histories of other servers which went through those
// epochs, and would be joined with them. Mostly the lineage of the leader has all that the one here has, and nothing
// is written.
func (ln *learner) doubt(theirs *Lineage) {
	same := ln.log.last.Epoch() // see continues
	switch {
	case theirs == nil:
		return // nothing is known of the histories of servers without a lineage
	case ln.sync == Snap:
		same = 0
	case len(ln.pending.txns) == 0:
		return // the history stays
	}
	interim := ln.log.lineage.common(theirs, same)
	if interim.equal(ln.log.lineage) {
		return
	}
	ln.log.persistInterim(interim)
}

// nameLeader corrects the leader in the status of an observer that learns from an observer master: the master may
// follow another leader than the one that the observer heard of in the election.
func (ln *learner) nameLeader(l *Lineage) {
	if i, ok := l.reign(ln.epoch); ok && l.Reigns[i].Leader >= 0 && ln.master != ln.leader {
		ln.status.Leader = l.Reigns[i].Leader
	}
}

// succession returns the lineage of the history that NEWLEADER ends. A leader that speaks the Java protocol has
// no mark, and hands no identity on, and it is not known which epochs it adopted after the last one of this server.
func (ln *learner) succession(m *Message) *Lineage {
	own, e := ln.log.lineage, ln.epoch
	if m.Lineage != nil && m.Lineage.Epoch() == e {
		next := m.Lineage
		if next.Ensemble == 0 {
			next = next.identified(own.Ensemble, false)
		}
		return next.settled(own.Settled)
	}
	if own.Epoch() >= e {
		return own
	}
	leader := ln.leader
	if ln.master != leader {
		leader = -1 // the master may follow another leader by now
	}
	return own.doubted().adopting(Reign{Epoch: e, Leader: leader, Gap: own.Epoch() != e-1})
}

// install replaces the database by the snapshot and the txns that were committed on top of it.
func (ln *learner) install() bool {
	done := ln.pending.between(anyZxid, ln.committed)
	rest := ln.pending.between(ln.committed, ln.pending.last())
	last := ln.snap
	if n := len(done); n > 0 {
		last = max(last, done[n-1].Zxid)
	}
	if len(rest) > 0 && !succeeds(last, rest[0].Zxid) {
		ln.wantsAll = true
		ln.leave("leader %d sent %v uncommitted on a snapshot at %v", ln.master, rest[0].Zxid, last)
		return false
	}
	ln.log.install(ln.link, done, last)
	ln.committed = last
	for _, t := range rest {
		ln.log.window.add(t)
	}
	return true
}

// upToDate lets this server serve. Source: quorum-protocol 6.8 S7.
func (ln *learner) upToDate(m *Message) {
	if ln.stage == lnUpToDate && ln.renewal.next != 0 {
		ln.enterNext(m)
		return
	}
	if ln.stage != lnAdopted {
		ln.leave("leader %d sent UPTODATE before the ACK of NEWLEADER", ln.master)
		return
	}
	ln.stage = lnUpToDate
	ln.promise(ln.log.stable.ackNewLeader(ln.epoch, ln.history))
	if !ln.settled() {
		return
	}
	if ln.log.blank {
		// The whole history is here and durable. From the next connection on this server counts again.
		ln.log.initialize()
		ln.leave("synchronised with leader %d after the loss of the disk", ln.master)
		return
	}
	ln.log.committed = ln.committed
	ln.vote.Epoch = ln.epoch
	ln.phase = Broadcast
	ln.status.Serving, ln.established = true, true
	ln.status.Outside = nil
	ln.log.noteLineage(ln.log.lineage.settled(max(ln.committed, proto.MakeZxid(ln.epoch, 0))).
		identified(ln.log.lineage.Ensemble, m.Final && ln.lineage != nil))
	ln.queue.found(ln.master)
}
