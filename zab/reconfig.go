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
func (c *Core) see(e *Ensemble) {
	if e == nil || e.Version <= c.newest().Version {
		return
	}
	if c.next != nil {
		c.activate(c.next) // otherwise e would not have been proposed
	}
	c.next = e
	c.reseat()
}

// unsee forgets the pending configuration if the history ends before it.
func (c *Core) unsee(last proto.Zxid) {
	if c.next != nil && c.next.Version > last {
		c.next = nil
		c.reseat()
	}
}

// activate makes a configuration the committed one. The caller handles what that means for the role.
func (c *Core) activate(e *Ensemble) {
	if e.Version <= c.active.Version {
		violated("configuration %v is to follow %v", e.Version, c.active.Version)
	}
	c.active = e
	if c.next != nil && c.next.Version <= e.Version {
		c.next = nil
	}
	c.text = e.Wire()
	c.log.persistEnsemble(e)
	c.reseat()
}

// reseat counts votes by the present configurations.
func (c *Core) reseat() {
	from := c.voters
	to, err := newElectorate(c.active, c.next)
	if err != nil {
		c.fatal(err)
		return
	}
	c.voters = to
	c.self = to.index(c.cfg.ID)
	c.peers = nil
	for _, id := range to.ids {
		if id != c.cfg.ID {
			c.peers = append(c.peers, id)
		}
	}
	ld := &c.ld
	for _, set := range []*quorum.Set{&ld.connecting, &ld.electing, &ld.synced, &ld.unfit} {
		*set = to.moved(*set, from)
	}
	acked := ld.acked
	clear(ld.acked[:])
	for i, id := range from.ids {
		if j := to.index(id); j >= 0 {
			ld.acked[j] = acked[i]
		}
	}
	for _, l := range c.links {
		if l.voter = c.placeOf(l); l.voter >= 0 && c.role == Leading && l.stage >= linkSynced {
			c.note(l)
		}
	}
}

// placeOf returns the place among the voters of the server on a link, or -1 if it does not count. An observer
// that a pending configuration makes a voter counts until the history is settled, because it promises and keeps
// what a follower does. It is not counted for proposals. Java servers need not keep anything as observers.
func (c *Core) placeOf(l *link) int {
	if l.stage == linkNew || l.master || l.observer && !l.warren || l.blank || l.parted {
		return -1
	}
	return c.voters.index(l.peer)
}

// The leader.

// numberFirst gives the first configuration of an ensemble that can be reconfigured a version: that of the first epoch
// of the history that may have given it one. If that epoch was established, servers have the configuration by that
// version. Source: quorum-protocol 5.2 step 7.
func (c *Core) numberFirst() {
	if c.cfg.Roster != nil && c.active.Version == 0 && c.next == nil {
		c.see(c.active.at(proto.MakeZxid(c.log.lineage.unsettled(c.epoch), 0)))
	}
}

// reconfigured acts on the commit of the pending configuration. A leader that has no vote in it names the next
// leader, sends the commit, and follows. Source: quorum-protocol 11.6.
func (c *Core) reconfigured() {
	e := c.next
	c.reconfig, c.designated = e.Version, c.cfg.ID
	if !e.Votes(c.cfg.ID) {
		c.designated = c.successor(e)
	}
	c.activate(e)
	if c.designated == c.cfg.ID {
		return
	}
	c.streamOn()
	c.lookFor(c.designated, describe("reconfigured: %d leads", c.designated))
}

// successor is the server that leads next by the configuration e, which it has in its log; -1 if none is connected.
func (c *Core) successor(e *Ensemble) proto.ServerID {
	next := proto.ServerID(-1)
	for _, l := range c.links {
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
func (c *Core) adoptFirst() bool {
	if c.next == nil {
		return true
	}
	c.activate(c.next)
	if c.active.Votes(c.cfg.ID) {
		return true
	}
	c.stepDown("server %d has no vote by configuration %v, which it has found committed", c.cfg.ID, c.active.Version)
	return false
}

// The learner.

// learn takes the configurations that NEWLEADER brings: the last one of its history, and from a Warren leader
// also the one that was committed before it. Source: quorum-protocol 6.6, 11.3 (c).
func (c *Core) learn(m *Message, history []Txn) {
	if e := c.parse(m.Active, c.active); e != nil {
		c.activate(e)
	}
	if c.cfg.Roster != nil {
		for _, t := range history {
			if e, err := c.reconfigures(t); err == nil { // it was read before, in receive
				c.see(e)
			}
		}
	}
	c.see(c.parse(m.Config, c.newest()))
}

// activated acts on the commit of the pending configuration at a learner that serves. If the leader or the role
// of this server changes, the connection ends, and the named server leads without an election. Source:
// quorum-protocol 11.5, 11.6.
func (c *Core) activated(leader proto.ServerID) {
	if c.next == nil || c.ln.stage != lnUpToDate || c.next.Version > c.log.committed {
		return
	}
	c.activate(c.next)
	c.reconfig, c.designated = c.active.Version, leader
	if leader == c.ln.leader && c.fits() {
		return
	}
	c.streamOn()
	if !c.active.Votes(leader) {
		leader = -1
	}
	c.lookFor(leader, describe("reconfigured: %d leads", leader))
}

// settled acts on the configuration that UPTODATE confirms. It reports false if this server had to leave.
func (c *Core) settled() bool {
	if c.next != nil && (c.next.Version <= c.ln.committed || c.next.Version.Counter() == 0) {
		c.activate(c.next)
	}
	if !c.fits() || c.cfg.Roster != nil && !c.voters.votes(c.ln.leader) {
		c.leave("reconfigured: leader %d is no voter, or this server has another role", c.ln.leader)
		return false
	}
	return true
}

// fits reports whether the role of this learner is the one that it has by the committed configuration.
func (c *Core) fits() bool { return (c.role == Observing) == c.active.Observes(c.cfg.ID) }

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
	c.becomeLooking(describe("configuration %v is newer", e.Version))
	return true
}
