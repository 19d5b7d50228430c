package zab

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// handover is the progress of a leader that hands its leadership over, or ends it.
type handover struct {
	begun bool // no more proposals are taken
	since int64
	stop  bool           // afterwards this server takes part in nothing
	named bool           // heir is to lead next, if it can
	heir  proto.ServerID // REQUIRES: named
}

// begin begins the hand-over, or has it end with a stop.
func (h *handover) begin(now int64, stop bool) {
	if !h.begun {
		h.begun, h.since = true, now
	}
	h.stop = h.stop || stop
}

// HandOver ends the leadership of this server without an election. The leader takes no more proposals. When all
// are committed, a follower that has all of them leads next, by agreement among the Warren servers; a fit
// follower if there is one. Java servers see their leader close the connection, after they have acknowledged
// everything. With stop, or if this server does not lead, it takes no part in anything afterwards. Status.Stopped
// reports the end; the host must then send the remaining messages and may end the process.
func (c *Core) HandOver(stop bool) {
	switch {
	case c.role == Leading && c.ld.stage >= leaderBarrier:
		c.ld.handover.begin(c.now, stop)
	case stop:
		c.change = &transition{to: Looking, leader: -1, reason: "stopped", stop: true}
		c.turn()
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
	if c.role != Leading || ld.stage != leaderServing || ld.handover.begun {
		return ErrNotLeading
	}
	if err := c.ld.succeeds(id); err != nil {
		return fmt.Errorf("zab: server %d cannot lead next: %w", id, err)
	}
	if !dry {
		c.HandOver(false)
		ld.handover.named, ld.handover.heir = true, id
	}
	return nil
}

// succeeds returns why a server cannot lead next, or nil.
func (ld *leader) succeeds(id proto.ServerID) error {
	if !ld.active.Votes(id) || !ld.weighs(id) {
		return errNoVoter
	}
	heir, able := (*link)(nil), quorum.Set(0).With(ld.self)
	for _, l := range ld.links {
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
	case ld.unfit.Has(heir.voter):
		return errUnfit
	case !ld.voters.decides(able):
		return errFewFollow
	}
	return nil
}

// awaitsHeir reports whether the hand-over waits for the server that was named, so that no other one leads next.
func (ld *leader) awaitsHeir() bool {
	return ld.handover.named && !ld.handover.stop && ld.now-ld.handover.since <= int64(ld.cfg.Timing.TickTime)/2 &&
		ld.succeeds(ld.handover.heir) == nil
}

// tryHandOver names the next leader once everything proposed is committed and the next leader knows that.
func (ld *leader) tryHandOver() {
	last := ld.log.window.last()
	if !ld.handover.begun || ld.renewal.begun || ld.log.committed < last || ld.log.stable.last < last {
		return
	}
	if ld.awaitsJava() {
		return
	}
	var nominee *link
	awaits := ld.awaitsHeir()
	able := quorum.Set(0)
	if !ld.handover.stop {
		able = able.With(ld.self)
	}
	for _, l := range ld.links {
		if l.voter < 0 || l.stage != linkUpToDate || !l.warren {
			continue
		}
		able = able.With(l.voter)
		if awaits && l.peer != ld.handover.heir || !ld.handover.stop && ld.unfit.Has(l.voter) {
			continue // a fit follower gets its txns within a tickTime, or there is an election
		}
		if l.acked >= last && l.sent >= last && ld.weighs(l.peer) &&
			(nominee == nil || ld.fitter(l, nominee)) {
			nominee = l
		}
	}
	if ld.handover.stop && !ld.voters.decides(ld.heirs()) {
		ld.deliver()
		ld.endLeadership(-1) // to wait would not help: there is no quorum without this server
		return
	}
	if !ld.voters.decides(able) || nominee == nil && (awaits || ld.handover.stop || ld.unfit.Has(ld.self)) {
		return
	}
	next := ld.cfg.ID // this server, with a new epoch
	if nominee != nil {
		next = nominee.peer
	}
	for _, l := range ld.links {
		if l.stage != linkUpToDate || !l.warren {
			continue
		}
		ld.streamTo(l)
		l.send(Message{Type: HandOver, Leader: next})
	}
	ld.deliver() // the clients of this server hear of all commits
	ld.endLeadership(next)
}

// awaitsJava reports whether the hand-over waits, for at most half a tickTime, until the ZooKeeper followers have
// acknowledged everything. A ZooKeeper follower that cannot send an ACK, because its leader has closed the connection,
// stops to log: it keeps txns in memory that are never in its log. Source: quorum-protocol 6.9, B7.
func (ld *leader) awaitsJava() bool {
	if ld.now-ld.handover.since > int64(ld.cfg.Timing.TickTime)/2 {
		return false
	}
	for _, l := range ld.links {
		if l.voter >= 0 && l.stage == linkUpToDate && !l.warren && !l.observer && l.acked < ld.log.window.last() {
			return true
		}
	}
	return false
}

// heirs returns the other voters that are connected and may lead or follow the next leader without an election,
// at once or when they are up to date.
func (ld *leader) heirs() quorum.Set { return ld.voting(func(l *link) bool { return l.warren }) }

// fitter reports whether a should lead rather than b, if both have everything.
func (ld *leader) fitter(a, b *link) bool {
	if x, y := ld.unfit.Has(a.voter), ld.unfit.Has(b.voter); x != y {
		return y
	}
	return a.peer > b.peer
}

// tickHandOver ends the search for a follower that has everything after a tickTime. It reports whether the role
// has ended.
func (ld *leader) tickHandOver() bool {
	if !ld.handover.begun || ld.now-ld.handover.since <= int64(ld.cfg.Timing.TickTime) {
		return false
	}
	ld.endLeadership(-1)
	return true
}

func (ld *leader) endLeadership(next proto.ServerID) {
	ld.look(next, "handed over")
	ld.change.stop = ld.handover.stop
}
