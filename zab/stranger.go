package zab

import (
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Strangers: servers whose history is known to differ from that of this server. A stranger is not counted at all:
// not its vote, not a vote for it, not its promise of an epoch. It is neither followed nor brought up to date. So
// each history needs a quorum of its own, and a server whose directory belongs to another history stays outside
// with its files untouched. Source: adr 0012.
//
// A server is compared each time it sends its lineage: with each notification, FOLLOWERINFO and LEADERINFO. So it
// ceases to be a stranger as soon as an operator has given one of the two servers another directory.

// stranger is a server with another history.
type stranger struct {
	difference *Difference
	lineage    *Lineage
	ahead      bool // ahead only of the epoch that is established now; does not count in an election
	checked    bool // a checksum has shown the difference, not the lineages
}

// Stranger is a server whose history differs from that of this server.
type Stranger struct {
	ID     proto.ServerID
	Reason string
	Theirs string // its lineage
	// Ahead says that the server has adopted an epoch which comes after the one that a quorum follows now. The
	// histories are not compared beyond that, and it counts as a stranger only as long as this server leads.
	Ahead bool
	// Unproven is that of the Difference.
	Unproven bool
}

// Strangers returns the servers whose history is known to differ, in the order of their ids.
func (c *Core) Strangers() []Stranger {
	var all []Stranger
	for id, s := range c.strangers {
		all = append(all, Stranger{ID: id, Reason: s.difference.Text, Theirs: s.lineage.String(), Ahead: s.ahead,
			Unproven: s.difference.Unproven})
	}
	slices.SortFunc(all, func(a, b Stranger) int { return int(a.ID - b.ID) })
	return all
}

// meetStranger compares this server with the sender of a message that carries a lineage. It returns nil if the sender
// is no stranger.
func (r *replica) meetStranger(m *Message) *Difference {
	d := r.differs(m.Lineage)
	if d == nil {
		if s := r.strangers[m.From]; s != nil && s.checked && m.Lineage.goesOn(s.lineage) {
			return s.difference
		}
		r.befriend(m.From)
		return nil
	}
	if r.voters.votes(m.From) || r.active.Observes(m.From) { // only these: that bounds the map
		r.strangers[m.From] = &stranger{difference: d, lineage: m.Lineage}
	}
	return d
}

// exposeStranger notes that a txn of a leader differs from the txn at the same zxid here, although the lineages
// do not show it. The leader stays a stranger as long as its history continues that one.
func (ln *learner) exposeStranger(leader proto.ServerID, z proto.Zxid, theirs *Lineage) {
	d := &Difference{Epoch: z.Epoch(), Text: describe("txn %v of leader %d is another one", z, leader)}
	ln.strangers[leader] = &stranger{difference: d, lineage: theirs, checked: true}
	ln.refusedBy(d.Text, theirs)
	ln.leave("%s", d.Text)
}

// forgetChecked forgets the strangers that checksums have shown. It is called when this server gets another
// history: the checksums were those of the old one.
func (r *replica) forgetChecked() {
	maps.DeleteFunc(r.strangers, func(_ proto.ServerID, s *stranger) bool { return s.checked })
}

// meetAgain is called when the election channel to a server was connected anew. The server may have been started anew,
// with another directory. If a checksum has shown that it was a stranger, its lineage need not show that it is none
// any more: a lineage that was lost says the same of both directories. So a checksum has to show it again.
func (r *replica) meetAgain(id proto.ServerID) {
	if s := r.strangers[id]; s != nil && s.checked {
		r.befriend(id)
	}
}

// befriend forgets that a server was a stranger.
func (r *replica) befriend(id proto.ServerID) {
	if s := r.strangers[id]; s == nil || s.ahead && r.role != Looking {
		return
	}
	delete(r.strangers, id)
	if o := r.status.Outside; o != nil && (o.Leader == id || len(r.strangers) == 0) {
		r.status.Outside = nil
	}
}

// differs compares a lineage with that of this server.
func (r *replica) differs(other *Lineage) *Difference {
	return r.log.lineage.Differs(other)
}

// isStranger reports whether the history of a server is known to differ.
func (r *replica) isStranger(id proto.ServerID) bool {
	s := r.strangers[id]
	return s != nil && !s.ahead
}

// ignoreStranger handles a notification of a stranger while this server looks for a leader: the vote of the
// stranger does not count any more. If the stranger leads, or follows a leader that does not send a lineage, the
// notification explains why this server finds no leader.
func (e *election) ignoreStranger(m *Message) {
	if i := e.voters.index(m.From); i >= 0 && e.running {
		e.forget(i)
		if e.proposal.Leader == m.From {
			e.newRound() // the vote belongs to the directory that the stranger had before
		}
	}
	s := e.strangers[m.From]
	switch {
	case s == nil:
	case m.State == Leading:
		e.stayOutside(m.From, s.difference.Text, m.Lineage)
	case m.State == Following && e.status.Outside == nil:
		e.stayOutside(m.Vote.Leader, s.difference.Text, m.Lineage)
	}
}

// stayOutside notes that the ensemble has a leader that this server cannot follow.
func (r *replica) stayOutside(leader proto.ServerID, reason string, theirs *Lineage) {
	o := &Outside{Leader: leader, Reason: reason, Own: r.log.lineage.String()}
	if theirs != nil {
		o.Theirs = theirs.String()
	}
	r.status.Outside = o
}

// refusedBy notes that this server cannot follow the leader to which it is connected. If that is not the first
// time, this server waits before it looks for a leader again.
func (ln *learner) refusedBy(reason string, theirs *Lineage) {
	ln.hesitates = ln.status.Outside != nil
	ln.stayOutside(ln.leader, reason, theirs)
}

// refusedAsStranger notes that a leader takes this server for a stranger, so that this server does not vote for it
// again: it would not be counted. Between the two a checksum has shown the difference there, so the note lives as long
// as one of a checksum here. A leader that is only behind in its epoch will be ahead of this server one day.
func (ln *learner) refusedAsStranger(m *Message, reason string) {
	if ln.master == ln.leader && m.Lineage != nil && ln.log.epochs.Current <= m.Epoch {
		d := &Difference{Epoch: m.Epoch, Text: reason}
		ln.strangers[ln.leader] = &stranger{difference: d, lineage: m.Lineage, checked: true}
	}
}

// lineage returns the lineage that the core begins with. It ends with currentEpoch, which another program may
// have raised since the lineage was written.
func (c *Config) lineage() *Lineage {
	if c.Lineage == nil {
		return (&Lineage{}).upTo(c.Epochs.Current)
	}
	l := c.Lineage.upTo(c.Epochs.Current)
	if n := len(l.Reigns); n > 0 && l.Reigns[n-1].Mark == 0 && l.Reigns[n-1].Leader >= 0 {
		l = l.doubted() // a ZooKeeper server has led, and version 0.1.0 has written the lineage
	}
	if l.Settled.Epoch() > l.Epoch() {
		l = &Lineage{Ensemble: l.Ensemble, Final: l.Final, Reigns: l.Reigns}
	}
	return l
}
