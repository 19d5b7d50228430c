package zab

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// Unfit says whether a voter (it may be this server) should rather not lead, for a reason that the host knows:
// its disk is almost full. A leader that hands over names an unfit server only if there is no other; agreement
// does not depend on it otherwise. The mark ends with the leadership. Unfit ignores servers that do not vote, and
// calls when this server does not lead.
func (c *Core) Unfit(id proto.ServerID, unfit bool) {
	i := c.voters.index(id)
	if c.role != Leading || i < 0 {
		return
	}
	c.ld.unfit &^= 1 << i
	if unfit {
		c.ld.unfit = c.ld.unfit.With(i)
	}
}

// FitQuorum reports whether this server leads a quorum without the unfit voters. If no voter is unfit, it is true
// whatever the connections.
func (c *Core) FitQuorum() bool {
	return c.ld.unfit == 0 ||
		c.voters.decides(c.ld.fit(func(*link) bool { return true })|quorum.Set(0).With(c.self)&^c.ld.unfit)
}

// FitSuccessor reports whether, after a hand-over, another server could lead a quorum of fit servers without this
// one.
func (c *Core) FitSuccessor() bool {
	others := c.ld.fit(func(l *link) bool { return l.warren })
	return c.role == Leading && c.ld.stage == leaderServing && c.voters.decides(others)
}

// fit returns the followers that are up to date and not unfit, if ok holds for them.
func (ld *leader) fit(ok func(*link) bool) quorum.Set {
	return ld.voting(func(l *link) bool { return l.stage == linkUpToDate && !ld.unfit.Has(l.voter) && ok(l) })
}
