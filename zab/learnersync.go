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
func (c *Core) syncBegins(m *Message) {
	ln := &c.ln
	if ln.stage != lnPromised {
		c.leave("leader %d sent %v out of turn", ln.master, m.Type)
		return
	}
	ln.stage = lnSyncing
	ln.sync = m.Type
	if ln.askedAll && m.Type != Snap && c.log.last != 0 {
		c.leave("leader %d sent %v where a snapshot was asked for", ln.master, m.Type)
		return
	}
	if m.Type != Snap && ln.lineage != nil && !c.continues(m) {
		return
	}
	switch m.Type {
	case Trunc:
		if !c.truncateTo(m.Zxid) {
			return
		}
	case Snap:
		if m.Zxid < 0 {
			c.leave("leader %d sent a snapshot at %v", ln.master, m.Zxid)
			return
		}
		ln.snap = m.Zxid
		ln.pending.reset(anyZxid)
		ln.committed = m.Zxid
		return
	}
	ln.pending.reset(c.log.last)
	ln.committed = c.log.last
}

// continues reports whether the last txn that this server is told to keep is known to be the same at a leader
// that keeps a lineage: by its checksum, or because both histories have gone through its epoch. If it is another
// txn, this server stays outside; if that is not known, this server asks for the whole state.
func (c *Core) continues(m *Message) bool {
	ln := &c.ln
	base := c.log.last
	if m.Type == Trunc {
		base = min(base, m.Zxid)
	}
	own, ok := c.sums(base)
	theirs := Sums{m.Sum, cmp.Or(m.Bare, m.Sum)}
	switch ok = ok && m.Summed; {
	case ok && !own.same(theirs):
		c.exposeStranger(ln.leader, base, ln.lineage)
		return false
	case !ok && base != 0 && !c.log.lineage.shares(ln.lineage, base):
		c.wantsAll = true
		c.leave("it is not known whether txn %v of leader %d is that of this server", base, ln.master)
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
func (c *Core) truncateTo(z proto.Zxid) bool {
	if z > c.log.last || z < 0 {
		c.leave("leader %d truncates to %v, but the log ends at %v", c.ln.master, z, c.log.last)
		return false
	}
	if committed := c.log.lineage.committed(); z < committed {
		c.wantsAll = true
		c.leave("leader %d truncates to %v, but all up to %v is committed", c.ln.master, z, committed)
		return false
	}
	ln := &c.ln
	if z < min(c.log.last, ln.claimed) && c.log.last.Epoch() == ln.claimed.Epoch() && ln.master == ln.leader {
		c.wantsAll = true
		c.leave("leader %d truncates to %v, but was elected with %v, which lies behind what is here",
			ln.master, z, ln.claimed)
		return false
	}
	at := z
	if !c.log.window.holds(z) {
		var ok bool
		if at, _, ok = c.cfg.History.Locate(z); !ok {
			c.wantsAll = true
			c.leave("leader %d truncates to %v, which is below the log", c.ln.master, z)
			return false
		}
	}
	c.log.truncate(at)
	c.unsee(at)
	if at != z {
		c.leave("leader %d truncates to %v, but the log has %v before it", c.ln.master, z, at)
		return false
	}
	return true
}

// proposed handles PROPOSAL. Source: quorum-protocol 6.8 S3, 7.3.
func (c *Core) proposed(m *Message) {
	ln := &c.ln
	if ln.stage == lnUpToDate && c.role == Observing {
		return // an observer hears INFORM; Java ignores it as well
	}
	for _, t := range m.Txns {
		if !c.receive(t) {
			return
		}
	}
}

// receive appends one txn to the history, or to the history that is to be adopted.
func (c *Core) receive(t Txn) bool {
	ln := &c.ln
	e, err := c.reconfigures(t)
	if err == nil && e != nil && e.Version != t.Zxid {
		err = fmt.Errorf("zab: it has version %v", e.Version)
	}
	if err != nil {
		c.leave("leader %d proposes %v, a reconfiguration that cannot be followed: %v", ln.master, t.Zxid, err)
		return false
	}
	switch {
	case ln.stage == lnSyncing:
		if ln.pending.before == anyZxid && len(ln.pending.txns) == 0 {
			if t.Zxid > ln.snap && !succeeds(ln.snap, t.Zxid) {
				c.gap(ln.snap, t.Zxid)
				return false
			}
			ln.pending.before = t.Zxid - 1
			ln.pending.push(t)
			return true
		}
		if !ln.adjoins(ln.pending.last(), t.Zxid) {
			c.gap(ln.pending.last(), t.Zxid)
			return false
		}
		ln.pending.push(t)
	case ln.stage >= lnAdopting:
		if last := c.log.window.last(); !succeeds(last, t.Zxid) {
			c.gap(last, t.Zxid)
			return false
		}
		if t.Zxid.Epoch() > c.log.epochs.Accepted { // a log that ends there is refused at the next start
			c.leave("leader %d of epoch %d proposes %v, but only epoch %d was accepted", ln.master, c.epoch, t.Zxid,
				c.log.epochs.Accepted)
			return false
		}
		c.log.window.add(t)
		c.see(e)
	default:
		c.leave("leader %d sent a proposal before synchronization", ln.master)
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
func (c *Core) gap(last, next proto.Zxid) {
	if c.ln.stage == lnSyncing {
		c.wantsAll = true
	}
	c.leave("leader %d proposes %v after %v", c.ln.master, next, last)
}

// commit handles COMMIT or COMMITANDACTIVATE, which names the oldest proposal that is not committed (from a
// Warren leader: the newest of several).
func (c *Core) commit(m *Message, leader proto.ServerID) {
	ln := &c.ln
	if ln.stage == lnUpToDate && c.role == Observing {
		return
	}
	w := &c.log.window
	switch {
	case ln.stage == lnSyncing:
		w = &ln.pending
	case ln.stage < lnAdopting:
		c.leave("leader %d sent a commit before synchronization", ln.master)
		return
	}
	if !c.committable(w, m.Zxid) {
		c.leave("leader %d commits %v after %v", ln.master, m.Zxid, ln.committed)
		return
	}
	ln.committed = max(ln.committed, m.Zxid)
	if ln.stage == lnUpToDate {
		c.log.committed = ln.committed
		c.activated(leader)
	}
}

// committable reports whether z is a proposal that was received and not committed, and for a leader that is not
// Warren the oldest such proposal. After SNAP, commits of txns that the snapshot holds are legal.
func (c *Core) committable(w *window, z proto.Zxid) bool {
	ln := &c.ln
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
func (c *Core) inform(m *Message, leader proto.ServerID) {
	ln := &c.ln
	if c.role != Observing || ln.stage < lnSyncing {
		c.leave("leader %d sent INFORM to a server that is %v", ln.master, c.role)
		return
	}
	w := &c.log.window
	if ln.stage == lnSyncing {
		w = &ln.pending
	}
	for _, t := range m.Txns {
		if i := w.above(ln.committed); !(i < len(w.txns) && w.txns[i].Zxid == t.Zxid) && !c.receive(t) {
			return
		}
		ln.committed = max(ln.committed, t.Zxid)
	}
	if ln.stage == lnUpToDate {
		c.log.committed = ln.committed
		c.activated(leader)
	}
}

// newLeader adopts the history of the leader: all of it is made durable, then currentEpoch, and then it is
// acknowledged. The order is that of Persist. Source: quorum-protocol 6.8 S5.
func (c *Core) newLeader(m *Message) {
	ln := &c.ln
	if ln.stage == lnUpToDate {
		c.renewEpoch(m)
		return
	}
	if ln.stage != lnSyncing || m.Epoch != c.epoch {
		c.leave("leader %d of epoch %d sent NEWLEADER of %d out of turn", ln.master, c.epoch, m.Epoch)
		return
	}
	if last := ln.pending.last(); ln.sync != Snap && last < ln.claimed && ln.claimed.Counter() != 0 &&
		ln.master == ln.leader && c.role == Following {
		// With counter 0 z is the start of an epoch, not a txn, and says nothing about the txns before it.
		c.wantsAll = true
		c.leave("leader %d ends its history with %v, but was elected with %v", ln.master, last, ln.claimed)
		return
	}
	last, committed := max(ln.pending.last(), ln.snap), c.log.lineage.committed()
	if last < committed {
		reason := describe("leader %d ends its history with %v, but all up to %v is committed", ln.master, last,
			committed)
		c.refusedBy(reason, ln.lineage)
		c.leave("%s", reason)
		return
	}
	lineage := c.succession(m)
	c.nameLeader(lineage)
	c.doubt(m.Lineage)
	if ln.sync == Snap {
		if !c.install() {
			return
		}
		c.unsee(0) // the pending configuration belonged to a discarded history
	} else {
		for _, t := range ln.pending.txns {
			c.log.window.add(t)
		}
	}
	c.learn(m, ln.pending.txns)
	c.forgetChecked()
	ln.pending = window{}
	c.log.appendTail()
	if c.epoch > c.log.epochs.Current {
		c.log.persistCurrent(c.epoch, lineage)
	} else {
		c.log.noteLineage(lineage)
	}
	ln.history = c.log.last
	ln.stage = lnAdopting
	// The history needs no ACK of its own; proposals of this epoch do.
	ln.acked = max(ln.committed, proto.MakeZxid(c.epoch, 0))
}

// doubt makes the disk say of the lineage only what holds of the history of the leader, too, before that history takes
// the place of the one that is here. A crash may leave a part of it. With the former lineage this server would claim
// for it, by the marks of epochs, that it is the same as the histories of other servers which went through those
// epochs, and would be joined with them. Mostly the lineage of the leader has all that the one here has, and nothing
// is written.
func (c *Core) doubt(theirs *Lineage) {
	same := c.log.last.Epoch() // see continues
	switch {
	case theirs == nil:
		return // nothing is known of the histories of servers without a lineage
	case c.ln.sync == Snap:
		same = 0
	case len(c.ln.pending.txns) == 0:
		return // the history stays
	}
	interim := c.log.lineage.common(theirs, same)
	if interim.equal(c.log.lineage) {
		return
	}
	c.log.persistInterim(interim)
}

// nameLeader corrects the leader in the status of an observer that learns from an observer master: the master may
// follow another leader than the one that the observer heard of in the election.
func (c *Core) nameLeader(l *Lineage) {
	if i, ok := l.reign(c.epoch); ok && l.Reigns[i].Leader >= 0 && c.ln.master != c.ln.leader {
		c.status.Leader = l.Reigns[i].Leader
	}
}

// succession returns the lineage of the history that NEWLEADER ends. A leader that speaks the Java protocol has
// no mark, and hands no identity on, and it is not known which epochs it adopted after the last one of this server.
func (c *Core) succession(m *Message) *Lineage {
	own, e := c.log.lineage, c.epoch
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
	leader := c.ln.leader
	if c.ln.master != leader {
		leader = -1 // the master may follow another leader by now
	}
	return own.doubted().adopting(Reign{Epoch: e, Leader: leader, Gap: own.Epoch() != e-1})
}

// install replaces the database by the snapshot and the txns that were committed on top of it.
func (c *Core) install() bool {
	ln := &c.ln
	done := ln.pending.between(anyZxid, ln.committed)
	rest := ln.pending.between(ln.committed, ln.pending.last())
	last := ln.snap
	if n := len(done); n > 0 {
		last = max(last, done[n-1].Zxid)
	}
	if len(rest) > 0 && !succeeds(last, rest[0].Zxid) {
		c.wantsAll = true
		c.leave("leader %d sent %v uncommitted on a snapshot at %v", ln.master, rest[0].Zxid, last)
		return false
	}
	c.log.install(ln.link, done, last)
	ln.committed = last
	for _, t := range rest {
		c.log.window.add(t)
	}
	return true
}

// upToDate lets this server serve. Source: quorum-protocol 6.8 S7.
func (c *Core) upToDate(m *Message) {
	ln := &c.ln
	if ln.stage == lnUpToDate && ln.next != 0 {
		c.renewalEnds(m)
		return
	}
	if ln.stage != lnAdopted {
		c.leave("leader %d sent UPTODATE before the ACK of NEWLEADER", ln.master)
		return
	}
	ln.stage = lnUpToDate
	c.promise(ln.link, ln.master, c.log.stable.ackNewLeader(c.epoch, ln.history))
	if !c.settled() {
		return
	}
	if c.log.blank {
		// The whole history is here and durable. From the next connection on this server counts again.
		c.log.initialize()
		c.leave("synchronised with leader %d after the loss of the disk", ln.master)
		return
	}
	c.log.committed = ln.committed
	c.vote.Epoch = c.epoch
	c.phase = Broadcast
	c.status.Serving, c.established = true, true
	c.status.Outside = nil
	c.log.noteLineage(c.log.lineage.settled(max(ln.committed, proto.MakeZxid(c.epoch, 0))).
		identified(c.log.lineage.Ensemble, m.Final && ln.lineage != nil))
	c.masterQueue.found(ln.master)
}
