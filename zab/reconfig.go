package zab

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// Reconfiguration. A configuration is proposed as a txn like any other. From that moment it is in force, beside
// the configuration before, for the proposer and for every server that has it in the history: until its commit
// each decision takes a quorum of both. Its commit makes it the only one. At most one is pending, and a leader
// proposes nothing behind one that is not committed. So no server has a txn behind a reconfiguration without
// having heard of its commit, and a second reconfiguration in a history proves that the one before is committed.
//
// The pending configuration depends on the history and on nothing else: it comes and goes with the txn. The
// committed configuration is kept on the disk (Persist.Ensemble), and may lag behind: a server that has forgotten
// the commit asks both quorums. Source: quorum-protocol 11, 15.3 D11, D12; adr 0009.

// Ensembles returns the committed configuration and the pending one, nil if there is none.
func (c *Core) Ensembles() (active, next *Ensemble) { return c.active, c.next }

// Ready reports whether a reconfiguration to next could be committed soon: no other one is pending, and this
// server and the followers that are up to date hold a quorum of it. Source: quorum-protocol 11.4 step 6.
func (c *Core) Ready(next *Ensemble) bool {
	if c.role != Leading || c.ld.stage != leaderServing || c.next != nil || next.Version <= c.active.Version {
		return false
	}
	if _, err := newElectorate(c.active, next); err != nil {
		return false
	}
	s := quorum.Set(0)
	if i := next.Quorum.Index(c.cfg.ID); i >= 0 {
		s = s.With(i)
	}
	for _, l := range c.links {
		if i := next.Quorum.Index(l.peer); i >= 0 && !l.observer && !l.blank && l.stage == linkUpToDate {
			s = s.With(i)
		}
	}
	return next.Quorum.DecidesSet(s)
}

// see makes a configuration that is now part of the history the pending one.
func (ls *learners) see(e *Ensemble) {
	if e == nil || e.Version <= ls.newest().Version {
		return
	}
	if ls.next != nil {
		ls.activate(ls.next) // otherwise e would not have been proposed
	}
	ls.next = e
	ls.reseat()
}

// unsee forgets the pending configuration if the history ends before it.
func (ls *learners) unsee(last proto.Zxid) {
	if ls.next != nil && ls.next.Version > last {
		ls.next = nil
		ls.reseat()
	}
}

// activate makes a configuration the committed one. The caller handles what that means for the role.
func (ls *learners) activate(e *Ensemble) {
	if e.Version <= ls.active.Version {
		violated("configuration %v is to follow %v", e.Version, ls.active.Version)
	}
	ls.active = e
	if ls.next != nil && ls.next.Version <= e.Version {
		ls.next = nil
	}
	ls.text = e.Wire()
	ls.log.persistEnsemble(e)
	ls.reseat()
}

// reseat counts votes by the present configurations.
func (ls *learners) reseat() {
	to, err := newElectorate(ls.active, ls.next)
	if err != nil {
		ls.fatal(err)
		return
	}
	ls.voters = to
	ls.self = to.index(ls.cfg.ID)
	ls.peers = nil
	for _, id := range to.ids {
		if id != ls.cfg.ID {
			ls.peers = append(ls.peers, id)
		}
	}
	for _, l := range ls.links {
		l.voter = ls.placeOf(l)
	}
}

// see, as a leader.
func (ld *leader) see(e *Ensemble) {
	from := ld.voters
	ld.learners.see(e)
	ld.recount(from)
}

// activate, as a leader.
func (ld *leader) activate(e *Ensemble) {
	from := ld.voters
	ld.learners.activate(e)
	ld.recount(from)
}

// recount moves what was counted for voters to their places among the present voters.
func (ld *leader) recount(from *electorate) {
	for _, set := range []*quorum.Set{&ld.connecting, &ld.electing, &ld.synced, &ld.unfit} {
		*set = ld.voters.moved(*set, from)
	}
	acked := ld.acked
	clear(ld.acked[:])
	for i, id := range from.ids {
		if j := ld.voters.index(id); j >= 0 {
			ld.acked[j] = acked[i]
		}
	}
	for _, l := range ld.links {
		if l.voter >= 0 && l.stage >= linkSynced {
			ld.note(l)
		}
	}
}

// placeOf returns the place among the voters of the server on a link, or -1 if it does not count. An observer
// that a pending configuration makes a voter counts until the history is settled, because it promises and keeps
// what a follower does. It is not counted for proposals. Java servers need not keep anything as observers.
func (ls *learners) placeOf(l *link) int {
	if l.stage == linkNew || l.master || l.observer && !l.warren || l.blank || l.parted {
		return -1
	}
	return ls.voters.index(l.peer)
}

// The leader.

// numberFirst gives the first configuration of an ensemble that can be reconfigured a version: that of the first epoch
// of the history that may have given it one. If that epoch was established, servers have the configuration by that
// version. Source: quorum-protocol 5.2 step 7.
func (ld *leader) numberFirst() {
	if ld.cfg.Roster != nil && ld.active.Version == 0 && ld.next == nil {
		ld.see(ld.active.at(proto.MakeZxid(ld.log.lineage.unsettled(ld.epoch), 0)))
	}
}

// reconfigured acts on the commit of the pending configuration. A leader that has no vote in it names the next
// leader, sends the commit, and follows. Source: quorum-protocol 11.6.
func (ld *leader) reconfigured() {
	e := ld.next
	ld.reconfig, ld.designated = e.Version, ld.cfg.ID
	if !e.Votes(ld.cfg.ID) {
		ld.designated = ld.successor(e)
	}
	ld.activate(e)
	if ld.designated == ld.cfg.ID {
		return
	}
	ld.streamOn()
	ld.look(ld.designated, describe("reconfigured: %d leads", ld.designated))
}

// successor is the server that leads next by the configuration e, which it has in its log; -1 if none is connected.
func (ld *leader) successor(e *Ensemble) proto.ServerID {
	next := proto.ServerID(-1)
	for _, l := range ld.links {
		i := e.Quorum.Index(l.peer)
		if i >= 0 && e.Quorum.Weighs(i) && l.voter >= 0 && l.stage == linkUpToDate &&
			l.acked >= e.Version && l.peer > next {
			next = l.peer
		}
	}
	return next
}

// adoptFirst makes the last configuration of the history the committed one: a quorum of both has adopted that
// history. It reports false if this server has no vote by it, and therefore leads no longer. Source:
// quorum-protocol 6.6.
func (ld *leader) adoptFirst() bool {
	if ld.next == nil {
		return true
	}
	ld.activate(ld.next)
	if ld.active.Votes(ld.cfg.ID) {
		return true
	}
	ld.stepDown("server %d has no vote by configuration %v, which it has found committed", ld.cfg.ID,
		ld.active.Version)
	return false
}

// The learner.

// learn takes the configurations that NEWLEADER brings: the last one of its history, and from a Warren leader
// also the one that was committed before it. Source: quorum-protocol 6.6, 11.3 (c).
func (ln *learner) learn(m *Message, history []Txn) {
	if e := ln.parse(m.Active, ln.active); e != nil {
		ln.activate(e)
	}
	if ln.cfg.Roster != nil {
		for _, t := range history {
			if e, err := ln.reconfigures(t); err == nil { // it was read before, in receive
				ln.see(e)
			}
		}
	}
	ln.see(ln.parse(m.Config, ln.newest()))
}

// activated acts on the commit of the pending configuration at a learner that serves. If the leader or the role
// of this server changes, the connection ends, and the named server leads without an election. Source:
// quorum-protocol 11.5, 11.6.
func (ln *learner) activated(leader proto.ServerID) {
	if ln.next == nil || ln.stage != lnUpToDate || ln.next.Version > ln.log.committed {
		return
	}
	ln.activate(ln.next)
	ln.reconfig, ln.designated = ln.active.Version, leader
	if leader == ln.leader && ln.fits() {
		return
	}
	ln.streamOn()
	if !ln.active.Votes(leader) {
		leader = -1
	}
	ln.look(leader, describe("reconfigured: %d leads", leader))
}

// settled acts on the configuration that UPTODATE confirms. It reports false if this server had to leave.
func (ln *learner) settled() bool {
	if ln.next != nil && (ln.next.Version <= ln.committed || ln.next.Version.Counter() == 0) {
		ln.activate(ln.next)
	}
	if !ln.fits() || ln.cfg.Roster != nil && !ln.voters.votes(ln.leader) {
		ln.leave("reconfigured: leader %d is no voter, or this server has another role", ln.leader)
		return false
	}
	return true
}

// fits reports whether the role of this learner is the one that it has by the committed configuration.
func (ln *learner) fits() bool { return (ln.role == Observing) == ln.active.Observes(ln.cfg.ID) }

// meet adopts a committed configuration that a server without a leader hears of, and then looks for a leader
// anew. It reports whether there was one. Source: quorum-protocol 3.3.
func (c *Core) meet(m *Message) bool {
	if c.role != Looking {
		return false
	}
	e := c.parse(m.Config, c.active)
	if e == nil {
		return false
	}
	c.activate(e)
	c.look(-1, describe("configuration %v is newer", e.Version))
	return true
}
