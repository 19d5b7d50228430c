package zab

import "github.com/seed94657493/warren/proto"

// Unfit says whether a voter, this server included, should rather not lead, for a reason that the host knows: its disk is almost
// full. A leader that hands over names such a server only if there is no other; agreement does not depend on it otherwise. What was
// said ends with the leadership; servers that do not vote, and calls when this server does not lead, are ignored.
func (c *Core) Unfit(id proto.ServerID, unfit bool) {
	i := c.voters.index(id)
	if c.role != Leading || i < 0 {
		return
	}
	c.ld.unfit &^= 1 << i
	if unfit {
		c.ld.unfit = c.ld.unfit.with(i)
	}
}

// FitQuorum reports whether this server leads a quorum without those that are unfit. If nobody is, it does, whoever is connected.
func (c *Core) FitQuorum() bool {
	return c.ld.unfit == 0 || c.voters.decides(c.fit(func(*link) bool { return true })|voterSet(0).with(c.self)&^c.ld.unfit)
}

// FitSuccessor reports whether somebody else could lead a quorum of fit servers without this one, by a hand-over.
func (c *Core) FitSuccessor() bool {
	others := c.fit(func(l *link) bool { return l.warren })
	return c.role == Leading && c.ld.stage == leaderServing && c.voters.decides(others)
}

// fit returns the followers that are up to date and not unfit, if ok holds for them.
func (c *Core) fit(ok func(*link) bool) (s voterSet) {
	for _, l := range c.links {
		if l.voter >= 0 && l.stage == linkUpToDate && !c.ld.unfit.has(l.voter) && ok(l) {
			s = s.with(l.voter)
		}
	}
	return s
}
