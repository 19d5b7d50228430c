package zab

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// syncRequest is a sync that is not answered yet.
type syncRequest struct {
	number uint64 // in the order of the calls
	link   LinkID // 0: of this server itself
	token  uint64
	after  proto.Zxid // the answer follows the commit of this zxid
	admits bool       // the answer is UPTODATE: see admit
}

// syncPing is a ping. Its answer shows that a voter followed after the sync of that number, and after all syncs
// before it.
type syncPing struct{ number, ping uint64 }

// Sync asks for an answer after which the reads of the learner on the link (0: of this server) reflect every
// write that was acknowledged before this call. The answer is a SyncReply with the token, or the token in
// Output.Synced, which holds once the txns of that Output are applied. The leader waits for what is in flight, as
// Java does, and also makes sure that it still leads: a quorum must answer a ping that was sent after this call.
// There is no answer if the leadership ends before. Source: quorum-protocol 8.3; guarantee 5.
func (c *Core) Sync(id LinkID, token uint64) error {
	if c.role != Leading || c.ld.stage != leaderServing || c.status.Stopped {
		return ErrNotLeading
	}
	c.syncs++
	c.ld.syncs = append(c.ld.syncs, syncRequest{number: c.syncs, link: id, token: token, after: c.ld.proposed})
	return nil
}

// answerSyncs sends one round of pings for all new requests, also to voters that have become up to date since. It
// answers, in order, the requests whose conditions hold.
func (c *Core) answerSyncs() {
	ld := &c.ld
	if n := len(ld.syncs); n > 0 {
		newest := ld.syncs[n-1].number
		for _, l := range c.links {
			if l.voter >= 0 && l.stage == linkUpToDate && l.asked < newest {
				c.pingTo(l)
				l.asked = newest
				l.syncPings = append(l.syncPings, syncPing{newest, l.pings})
			}
		}
	}
	for len(ld.syncs) > 0 && c.answerable(&ld.syncs[0]) {
		r := ld.syncs[0]
		ld.syncs = ld.syncs[1:]
		if r.link == 0 {
			c.out.Synced = append(c.out.Synced, r.token)
			continue
		}
		i := c.linkIndex(r.link)
		if i < 0 || !r.admits && c.links[i].stage != linkUpToDate {
			continue
		}
		l := c.links[i]
		if r.admits {
			c.upToDateTo(l)
			continue
		}
		if l.epoch != c.epoch || len(l.answers) > 0 { // no commits are sent to it now: see renewal.go
			l.answers = append(l.answers, answer{c.log.committed, r.token})
			continue
		}
		c.streamTo(l) // the answer follows the commits that it waited for
		c.send(Message{Type: SyncReply, To: l.peer, Link: l.id, Token: r.token})
	}
}

// answerable reports whether all that was proposed before the request is committed, and a quorum still follows.
func (c *Core) answerable(r *syncRequest) bool {
	if c.log.committed < r.after ||
		r.link == 0 && r.after.Counter() != 0 && c.log.stable.last < r.after {
		return false
	}
	alive := quorum.Set(0).With(c.self)
	for _, l := range c.links {
		if l.voter >= 0 && l.followedAfter() >= r.number {
			alive = alive.With(l.voter)
		}
	}
	return c.voters.decides(alive)
}

// followedAfter returns the number of the newest sync after which the learner has shown that it follows.
func (l *link) followedAfter() uint64 {
	for len(l.syncPings) > 0 && l.syncPings[0].ping <= l.pongs {
		l.followed = l.syncPings[0].number
		l.syncPings = l.syncPings[1:]
	}
	return l.followed
}
