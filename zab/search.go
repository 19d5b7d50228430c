package zab

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// Search is what a server that looks for a leader knows of the voters, this server included. It decides nothing: it
// is for operators.
type Search struct {
	// Blank are the voters whose database is missing. They elect no server: see blank.go.
	Blank []proto.ServerID
	// Empty are the voters that stand for election with an empty tree. A server in Java that has lost its database
	// cannot be told from one of a new ensemble.
	Empty []proto.ServerID
	// Holding are the others that stand for election or have a leader.
	Holding []proto.ServerID
	// Silent are the voters that this server has not heard of in this election.
	Silent []proto.ServerID
	// Stuck says that the voters that are not blank are no quorum. So no leader can be elected before one of the
	// blank voters has its database again, or is told by an operator that there was none.
	Stuck bool
}

// search is the Search of an election, as sets of voters.
type search struct {
	heard, blank, empty quorum.Set
}

// note keeps what voter i says of itself.
func (s *search) note(m *Message, i int) {
	s.heard = s.heard.With(i)
	s.blank, s.empty = s.blank&^(1<<i), s.empty&^(1<<i)
	switch {
	case m.State != Looking:
	case m.Vote.Zxid == -1:
		s.blank = s.blank.With(i)
	case m.Vote.Zxid == 0 && m.Vote.Epoch == 0:
		s.empty = s.empty.With(i)
	}
}

// Search returns what this server knows of the voters, nil if it does not look for a leader.
func (c *Core) Search() *Search {
	e := &c.el
	if c.role != Looking || !e.running {
		return nil
	}
	found := e.search
	if c.self >= 0 {
		m := c.notification(c.cfg.ID)
		m.From, m.Vote = c.cfg.ID, e.own
		found.note(&m, c.self)
	}
	s := &Search{Stuck: !c.voters.decides(c.voters.all() &^ found.blank)}
	for i, id := range c.voters.ids {
		switch {
		case found.blank.Has(i):
			s.Blank = append(s.Blank, id)
		case found.empty.Has(i):
			s.Empty = append(s.Empty, id)
		case !found.heard.Has(i):
			s.Silent = append(s.Silent, id)
		default:
			s.Holding = append(s.Holding, id)
		}
	}
	return s
}
