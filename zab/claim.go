package zab

import (
	"slices"

	"github.com/seed94657493/warren/proto"
)

// A learner has one place at its leader or observer master, whatever the number of its connections. A server that
// comes again, because its process or its connection has ended, may be earlier than the news of that end. Then the
// newer connection is the one that counts. But any program that reaches the port can say that it is that server.
//
// So a learner that has promised the epoch keeps its place until its connection ends, or until it does not answer any
// more; the newer connection waits with its claim. A server uses one connection at a time: an answer to a PING that
// was sent after the claim had come proves that the claim is not of that server, and its connection is closed. A
// learner that has not promised anything is as unproven as the newer one, which takes its place at once.

// claim is what a link has introduced itself with while another link has its place.
type claim struct {
	info   Message
	holder LinkID
	since  int64  // tick
	ping   uint64 // the PING to the holder whose answer refutes the claim; 0 if none could be sent yet
}

// holder returns the link that keeps the place of a server, other than l.
func (ls *learners) holder(id proto.ServerID, l *link) *link {
	for _, old := range ls.links {
		if old != l && old.peer == id && old.stage >= linkPromised {
			return old
		}
	}
	return nil
}

// takesPlace reports whether the learner that introduces itself on l gets its place now. The links that have it, or
// claim it, without having proven themselves are closed.
func (ls *learners) takesPlace(l *link, m *Message) bool {
	if m.From < 0 {
		return true
	}
	for _, old := range slices.Backward(ls.links) {
		if old != l && (old.peer == m.From && old.stage < linkPromised ||
			old.claim != nil && old.claim.info.From == m.From) {
			ls.closeLink(old)
		}
	}
	if ls.holder(m.From, l) == nil {
		return true
	}
	l.claim = &claim{info: *m, since: ls.now}
	ls.claims++
	return false
}

// settleClaims decides on the claims whose outcome is known by now.
func (c *Core) settleClaims() {
	if c.claims == 0 {
		return
	}
	c.claims = 0
	for _, l := range slices.Clone(c.links) {
		if l.claim == nil || c.find(l.id) == nil {
			continue
		}
		p := l.claim
		holder := c.holder(p.info.From, l)
		if holder != nil && c.now-p.since > int64(c.cfg.Timing.TickTime/2) {
			c.closeLink(holder)
			holder = nil
		}
		if holder == nil {
			l.claim = nil
			c.learnerInfo(l, &p.info)
			continue
		}
		if p.holder != holder.id {
			p.holder, p.ping = holder.id, 0
		}
		if holder.stage == linkUpToDate && p.ping == 0 {
			c.pingTo(holder)
			p.ping = holder.pings
		}
		if p.ping != 0 && holder.pongs >= p.ping {
			c.out.Rivals = append(c.out.Rivals, Rival{l.id, holder.id})
			c.closeLink(l)
			continue
		}
		c.claims++
	}
}
