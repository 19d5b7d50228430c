package zab

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// HandOver ends the leadership of this server without an election. The leader takes no more proposals. When all
// are committed, a follower that has all of them leads next, by agreement among the Warren servers; a fit
// follower if there is one. Java servers see their leader close the connection, after they have acknowledged
// everything. With stop, or if this server does
// not lead, it takes no part in anything afterwards. Status.Stopped reports the end; the host must then send the
// remaining messages and may end the process.
func (c *Core) HandOver(stop bool) {
	ld := &c.ld
	if c.role == Leading && ld.stage >= leaderBarrier {
		if !ld.handing {
			ld.handing, ld.handedAt = true, c.now
		}
		ld.stopping = ld.stopping || stop
		return
	}
	if stop {
		c.stop("stopped")
	}
}

// Reasons why a server cannot be named as the next leader.
var (
	errNoVoter     = errors.New("it is no voter that may lead")
	errNotUpToDate = errors.New("it does not follow, or is not up to date")
	errNoHandOvers = errors.New("it runs ZooKeeper, which knows no hand-over")
	errUnfit       = errors.New("its disk is almost full")
	errFewFollow   = errors.New("too few voters know hand-overs: there would be an election")
)

// HandOverTo is HandOver(false) to a server that is named. An error says why that cannot be now, and nothing has
// changed then; nor has it if dry is set. If the named server goes away, or has not acknowledged everything within
// half a tickTime, another one leads next. Agreement does not depend on which one.
func (c *Core) HandOverTo(id proto.ServerID, dry bool) error {
	ld := &c.ld
	if c.role != Leading || ld.stage != leaderServing || ld.handing {
		return ErrNotLeading
	}
	if err := c.succeeds(id); err != nil {
		return fmt.Errorf("zab: server %d cannot lead next: %w", id, err)
	}
	if !dry {
		c.HandOver(false)
		ld.named, ld.heir = true, id
	}
	return nil
}

// succeeds returns why a server cannot lead next, or nil.
func (c *Core) succeeds(id proto.ServerID) error {
	if !c.active.Votes(id) || !c.weighs(id) {
		return errNoVoter
	}
	heir, able := (*link)(nil), quorum.Set(0).With(c.self)
	for _, l := range c.links {
		if l.voter < 0 || l.stage != linkUpToDate {
			continue
		}
		if l.peer == id {
			heir = l
		}
		if l.warren {
			able = able.With(l.voter)
		}
	}
	switch {
	case heir == nil:
		return errNotUpToDate
	case !heir.warren:
		return errNoHandOvers
	case c.ld.unfit.Has(heir.voter):
		return errUnfit
	case !c.voters.decides(able):
		return errFewFollow
	}
	return nil
}

// awaitsHeir reports whether the hand-over waits for the server that was named, so that no other one leads next.
func (c *Core) awaitsHeir() bool {
	ld := &c.ld
	return ld.named && !ld.stopping && c.now-ld.handedAt <= int64(c.cfg.Timing.TickTime)/2 &&
		c.succeeds(ld.heir) == nil
}

// tryHandOver names the next leader once everything proposed is committed and the next leader knows that.
func (c *Core) tryHandOver() {
	ld := &c.ld
	if last := c.log.window.last(); !ld.handing || ld.renewal.begun || min(c.log.committed, c.log.stable.last) < last {
		return
	}
	if c.awaitsJava() {
		return
	}
	var nominee *link
	awaits := c.awaitsHeir()
	able := quorum.Set(0)
	if !ld.stopping {
		able = able.With(c.self)
	}
	for _, l := range c.links {
		if l.voter < 0 || l.stage != linkUpToDate || !l.warren {
			continue
		}
		able = able.With(l.voter)
		if awaits && l.peer != ld.heir || !ld.stopping && ld.unfit.Has(l.voter) {
			continue // a fit follower gets its txns within a tickTime, or there is an election
		}
		if l.acked >= c.log.window.last() && l.sent >= c.log.window.last() && c.weighs(l.peer) &&
			(nominee == nil || c.fitter(l, nominee)) {
			nominee = l
		}
	}
	if ld.stopping && !c.voters.decides(c.heirs()) {
		c.deliver()
		c.endLeadership(-1) // to wait would not help: there is no quorum without this server
		return
	}
	if !c.voters.decides(able) || nominee == nil && (awaits || ld.stopping || ld.unfit.Has(c.self)) {
		return
	}
	next := c.cfg.ID // this server, with a new epoch
	if nominee != nil {
		next = nominee.peer
	}
	for _, l := range c.links {
		if l.stage != linkUpToDate || !l.warren {
			continue
		}
		c.streamTo(l)
		c.send(Message{Type: HandOver, To: l.peer, Link: l.id, Leader: next})
	}
	c.deliver() // the clients of this server hear of all commits
	c.endLeadership(next)
}

// awaitsJava reports whether the hand-over waits, for at most half a tickTime, until the ZooKeeper followers have
// acknowledged everything. A ZooKeeper follower that cannot send an ACK, because its leader has closed the connection,
// stops to log: it keeps txns in memory that are never in its log. Source: quorum-protocol 6.9, B7.
func (c *Core) awaitsJava() bool {
	if c.now-c.ld.handedAt > int64(c.cfg.Timing.TickTime)/2 {
		return false
	}
	for _, l := range c.links {
		if l.voter >= 0 && l.stage == linkUpToDate && !l.warren && !l.observer && l.acked < c.log.window.last() {
			return true
		}
	}
	return false
}

// heirs returns the other voters that are connected and may lead or follow the next leader without an election,
// at once or when they are up to date.
func (c *Core) heirs() quorum.Set {
	s := quorum.Set(0)
	for _, l := range c.links {
		if l.voter >= 0 && l.warren {
			s = s.With(l.voter)
		}
	}
	return s
}

// fitter reports whether a should lead rather than b, if both have everything.
func (c *Core) fitter(a, b *link) bool {
	if x, y := c.ld.unfit.Has(a.voter), c.ld.unfit.Has(b.voter); x != y {
		return y
	}
	return a.peer > b.peer
}

// tickHandOver ends the search for a follower that has everything after a tickTime. It reports whether the role
// has ended.
func (c *Core) tickHandOver() bool {
	if !c.ld.handing || c.now-c.ld.handedAt <= int64(c.cfg.Timing.TickTime) {
		return false
	}
	c.endLeadership(-1)
	return true
}

func (c *Core) endLeadership(next proto.ServerID) {
	if c.ld.stopping {
		c.stop("handed over")
		return
	}
	c.lookFor(next, "handed over")
}

// stop ends all participation in the ensemble.
func (c *Core) stop(reason string) {
	c.status.Stopped = true
	c.becomeLooking(reason)
	for len(c.links) > 0 {
		c.closeLink(c.links[len(c.links)-1])
	}
}
