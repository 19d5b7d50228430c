package zab

import "github.com/seed94657493/warren/proto"

// Observer masters. A follower that serves keeps links of observers. They go through the same stages, by the same
// code, as the links of a leader. The differences are in this file: the epoch is the one that this server
// follows, an observer is shown what this server has delivered, and what an observer says does not count. Source:
// quorum-protocol 12.2; adr 0010.

// masters reports whether this server is a follower that may serve observers.
func (c *Core) masters() bool { return c.role == Following && c.status.Serving }

// serves reports whether this server serves the learner on an accepted link now.
func (c *Core) serves(l *link) bool {
	if l.master {
		return c.masters()
	}
	return c.role == Leading
}

// welcomes reports whether the sender of a first message may learn from this server, now or as soon as it serves.
// A leader refuses observers on this port: it has enough to do. A server that a pending configuration
// makes a voter has to go to the leader, which may not be able to lead without it. So has a server that lost its
// disk, because only a leader may say that it counts again (admit).
func (c *Core) welcomes(m *Message) bool {
	return m.Type == ObserverInfo && !m.Blank && c.role != Leading &&
		(c.next == nil || c.status.Serving || !c.next.Votes(m.From))
}

// shown returns up to where the learners of this server may know what is committed. A follower knows less than
// its leader. It tells its observers only what it has delivered: that is durable on its disk, so it never has to
// be taken back.
func (c *Core) shown() proto.Zxid {
	switch {
	case c.role == Leading:
		return c.log.committed
	}
	return c.log.delivered
}

// answer is a reply that an observer of this follower gets after the INFORM of all txns up to one txn.
type answer struct {
	after proto.Zxid
	token uint64
}

// Answer sends a SyncReply with the token to an observer of this follower: after the INFORM of all that the
// leader has committed by now, and before that of anything later. The host calls it when the leader has answered
// a request of the observer.
func (c *Core) Answer(id LinkID, token uint64) {
	if i := c.linkIndex(id); i >= 0 && c.links[i].master && c.links[i].stage == linkUpToDate {
		c.links[i].answers = append(c.links[i].answers, answer{c.log.committed, token})
	}
}

// settleMaster takes up observers that have connected since. An observer whose last txn is of this epoch has only
// committed txns of it. If it has more than is delivered here it waits, and so keeps what its clients have seen.
func (c *Core) settleMaster() {
	if !c.masters() {
		return
	}
	if c.ln.next == 0 {
		c.renewLearners()
	}
	for i := len(c.links) - 1; i >= 0; i-- {
		l := c.links[i]
		switch {
		case !l.master, c.ln.next != 0 && l.stage == linkWaiting:
		case l.stage == linkWaiting && c.ahead(l):
			c.closeLink(l) // it knows a later configuration; its next master may know it too
		case l.stage == linkWaiting:
			c.compare(l)
			c.invite(l, c.epoch)
		case l.stage == linkPromised && (l.position.Epoch() != c.epoch || l.position <= c.top()):
			c.startSync(l)
		}
	}
}

// stepMaster takes a message of an observer.
func (c *Core) stepMaster(l *link, m *Message) {
	if !c.masters() {
		return
	}
	l.heard = c.now
	switch {
	case m.Type == AckEpoch && l.stage == linkUpToDate && l.renewalPromise():
	case m.Type == AckEpoch && l.stage == linkInvited && m.Zxid >= 0:
		l.ackEpoch, l.position = m.Epoch, m.Zxid
		l.stage = linkPromised
	case m.Type == Ack:
		c.ack(l, m)
	case m.Type == Ping:
		l.pongs = min(l.pongs+1, l.pings)
	default:
		c.closeLink(l)
	}
}

// tickMaster closes links of observers that are silent or too slow.
func (c *Core) tickMaster() {
	if !c.masters() {
		return
	}
	t := &c.cfg.Timing
	look := c.now%int64(t.TickTime/2) == 0
	for i := len(c.links) - 1; i >= 0; i-- {
		l := c.links[i]
		switch {
		case !l.master || l.stage < linkInvited:
		case c.now-l.heard > int64(c.learnerLimit(l)):
			c.closeLink(l)
		case look && l.stage >= linkSyncing && c.lag(l.sent) > c.cfg.Limits.LagBytes:
			c.closeLink(l)
		}
	}
}

// lag returns how many bytes of the txns that observers are shown come after z.
func (c *Core) lag(z proto.Zxid) (bytes int) {
	for _, t := range c.log.window.between(z, c.shown()) {
		bytes += len(t.Payload)
	}
	return bytes
}

// pingObservers passes on a PING of the leader, so that its news of the sessions of this server reach the
// observers at once. If the leader pings its followers more often than every half tick, because of syncs, the
// extra pings are not passed on.
func (c *Core) pingObservers() {
	if !c.masters() || c.now-c.ln.pinged < int64(c.cfg.Timing.TickTime/4) {
		return
	}
	c.ln.pinged = c.now
	for _, l := range c.links {
		if l.master && l.stage >= linkSyncing {
			c.pingTo(l)
		}
	}
}

// streamOn sends the learners the new txns before this role ends.
func (c *Core) streamOn() {
	c.deliver() // the clients of this server hear of these commits
	c.stream()
}
