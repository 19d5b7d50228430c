package zab

import (
	"hash/adler32"
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Strangers: servers whose history is known to differ from that of this server. What a stranger says counts for nothing: not its vote, not
// a vote for it, not its promise of an epoch; it is neither followed nor brought up to date. So each history needs a quorum of its
// own, and a server whose directory belongs to another history stays outside with its files untouched. Source: adr 0012.
//
// A server is compared each time it says what it has: with each notification, FOLLOWERINFO and LEADERINFO. So it ceases to be a stranger as
// soon as an operator has given one of the two another directory.

// stranger is a server with another history.
type stranger struct {
	difference *Difference
	lineage    *Lineage
	ahead      bool // only of the epoch that is established now, so nothing that counts in an election
	checked    bool // a checksum has shown the difference, not the lineages
}

// Stranger is a server whose history differs from that of this server.
type Stranger struct {
	ID     proto.ServerID
	Reason string
	Theirs string // its lineage
	// Ahead says that the server has adopted an epoch which comes after the one that a quorum follows now. The histories are not compared
	// beyond that, and it counts as a stranger only as long as this server leads.
	Ahead bool
}

// Strangers returns the servers whose history is known to differ, in the order of their ids.
func (c *Core) Strangers() []Stranger {
	var all []Stranger
	for id, s := range c.strangers {
		all = append(all, Stranger{ID: id, Reason: s.difference.Text, Theirs: s.lineage.String(), Ahead: s.ahead})
	}
	slices.SortFunc(all, func(a, b Stranger) int { return int(a.ID - b.ID) })
	return all
}

// meetStranger compares this server with the sender of a message that carries a lineage. It returns nil if the sender
// is no stranger.
func (c *Core) meetStranger(m *Message) *Difference {
	d := c.differs(m.Lineage)
	if d == nil {
		if s := c.strangers[m.From]; s != nil && s.checked && m.Lineage.goesOn(s.lineage) {
			return s.difference
		}
		c.befriend(m.From)
		return nil
	}
	if c.voters.votes(m.From) || c.active.Observes(m.From) { // which bounds the map
		c.strangers[m.From] = &stranger{difference: d, lineage: m.Lineage}
	}
	return d
}

// exposeStranger notes that a txn of a leader is another one here, which the lineages do not tell. The leader stays a
// stranger as long as its history goes on.
func (c *Core) exposeStranger(leader proto.ServerID, z proto.Zxid, theirs *Lineage) {
	d := &Difference{Epoch: z.Epoch(), Text: describe("txn %v of leader %d is another one", z, leader)}
	c.strangers[leader] = &stranger{difference: d, lineage: theirs, checked: true}
	c.refusedBy(d.Text, theirs)
	c.leave("%s", d.Text)
}

// forgetChecked is called when the history of this server becomes another one: what checksums have shown was of the
// one before.
func (c *Core) forgetChecked() {
	maps.DeleteFunc(c.strangers, func(_ proto.ServerID, s *stranger) bool { return s.checked })
}

// befriend forgets that a server was a stranger.
func (c *Core) befriend(id proto.ServerID) {
	if s := c.strangers[id]; s == nil || s.ahead && c.role != Looking {
		return
	}
	delete(c.strangers, id)
	if o := c.status.Outside; o != nil && (o.Leader == id || len(c.strangers) == 0) {
		c.status.Outside = nil
	}
}

// differs compares a lineage with that of this server.
func (c *Core) differs(other *Lineage) *Difference {
	if c.weak(HistoriesJoined) {
		return nil
	}
	return c.lineage.Differs(other)
}

// isStranger reports whether the history of a server is known to differ.
func (c *Core) isStranger(id proto.ServerID) bool {
	s := c.strangers[id]
	return s != nil && !s.ahead
}

// ignoreStranger takes a notification of a stranger while this server looks for a leader: the vote of the stranger
// does not count any more, and if the stranger leads, or follows a leader that does not say where its history comes
// from, this server knows why it finds no leader.
func (c *Core) ignoreStranger(m *Message) {
	if i := c.voters.index(m.From); i >= 0 && c.el.running {
		c.el.recv[i], c.el.out[i] = entry{}, entry{}
		if c.el.proposal.Leader == m.From {
			c.newRound() // the vote is of the directory that the stranger had before
		}
	}
	s := c.strangers[m.From]
	switch {
	case s == nil:
	case m.State == Leading:
		c.stayOutside(m.From, s.difference.Text, m.Lineage)
	case m.State == Following && c.status.Outside == nil:
		c.stayOutside(m.Vote.Leader, s.difference.Text, m.Lineage)
	}
}

// stayOutside notes that the ensemble has a leader that this server cannot follow.
func (c *Core) stayOutside(leader proto.ServerID, reason string, theirs *Lineage) {
	o := &Outside{Leader: leader, Reason: reason, Own: c.lineage.String()}
	if theirs != nil {
		o.Theirs = theirs.String()
	}
	c.status.Outside = o
}

// refusedBy notes that this server cannot follow the leader to which it is connected. If that was so before, this server waits before it
// looks for a leader again.
func (c *Core) refusedBy(reason string, theirs *Lineage) {
	c.hesitates = c.status.Outside != nil
	c.stayOutside(c.ln.leader, reason, theirs)
}

// lineage is what the core begins with: it ends with currentEpoch, which may have been raised by another program since the lineage was written.
func (c *Config) lineage() *Lineage {
	if c.Lineage == nil {
		return (&Lineage{}).upTo(c.Epochs.Current)
	}
	l := c.Lineage.upTo(c.Epochs.Current)
	if l.Settled.Epoch() > l.Epoch() {
		l = &Lineage{Ensemble: l.Ensemble, Final: l.Final, Reigns: l.Reigns}
	}
	return l
}

// sum is the checksum of the txn at z, if this server can tell.
func (c *Core) sum(z proto.Zxid) (sum uint32, ok bool) {
	if z.Counter() == 0 {
		return 0, false
	}
	if i := c.window.above(z); i > 0 && c.window.txns[i-1].Zxid == z {
		return adler32.Checksum(c.window.txns[i-1].Payload), true
	}
	return c.cfg.History.Sum(z)
}
