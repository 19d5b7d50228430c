package zab

import (
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Observer masters. A follower that serves keeps links of observers. They go through the same stages, by the same
// code, as the links of a leader. The differences are in this file: the epoch is the one that this server
// follows, an observer is shown what this server has delivered, and what an observer says does not count. Source:
// quorum-protocol 12.2; adr 0010.

// masters reports whether this server is a follower that may serve observers.
func (r *replica) masters() bool { return r.role == Following && r.status.Serving }

// serves reports whether this server serves the learner on an accepted link now.
func (ls *learners) serves(l *link) bool {
	if l.master {
		return ls.masters()
	}
	return ls.role == Leading
}

// welcomes reports whether the sender of a first message may learn from this server, now or as soon as it serves.
// A leader refuses observers on this port: it has enough to do. A server that a pending configuration
// makes a voter has to go to the leader, which may not be able to lead without it. So has a server that lost its
// disk, because only a leader may say that it counts again (admit).
func (r *replica) welcomes(m *Message) bool {
	return m.Type == ObserverInfo && !m.Blank && r.role != Leading &&
		(r.next == nil || r.status.Serving || !r.next.Votes(m.From))
}

// shown returns up to where the learners of this server may know what is committed. A follower knows less than
// its leader. It tells its observers only what it has delivered: that is durable on its disk, so it never has to
// be taken back.
func (r *replica) shown() proto.Zxid {
	if r.role == Leading {
		return r.log.committed
	}
	return r.log.delivered
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
	if l := c.find(id); l != nil && l.master && l.stage == linkUpToDate {
		l.answers = append(l.answers, answer{c.log.committed, token})
	}
}

// settleMaster takes up observers that have connected since. An observer whose last txn is of this epoch has only
// committed txns of it. If it has more than is delivered here it waits, and so keeps what its clients have seen.
// REQUIRES: masters().
func (ln *learner) settleMaster() {
	if ln.renewal.next == 0 {
		ln.offerNext(true)
	}
	for _, l := range slices.Backward(ln.links) {
		switch {
		case !l.master, ln.renewal.next != 0 && l.stage == linkWaiting:
		case l.stage == linkWaiting && ln.ahead(l):
			ln.closeLink(l) // it knows a later configuration; its next master may know it too
		case l.stage == linkWaiting:
			ln.compare(l)
			ln.invite(l, ln.epoch)
		case l.stage == linkPromised && (l.position.Epoch() != ln.epoch || l.position <= ln.top()):
			ln.startSync(l)
		}
	}
}

// stepMaster takes a message of an observer.
func (ln *learner) stepMaster(l *link, m *Message) {
	if !ln.masters() {
		return
	}
	l.heard = ln.now
	switch {
	case m.Type == AckEpoch && l.stage == linkUpToDate && l.promiseNext():
	case m.Type == AckEpoch && l.stage == linkInvited && m.Zxid >= 0:
		l.ackEpoch, l.position = m.Epoch, m.Zxid
		l.stage = linkPromised
	case m.Type == Ack:
		switch l.ack(m.Zxid, ln.epoch) {
		case ackNewLeader:
			ln.upToDateTo(l)
		case ackNextEpoch:
			ln.confirmNext(l)
		case ackUnexpected:
			ln.closeLink(l)
		}
	case m.Type == Ping:
		l.pongs = min(l.pongs+1, l.pings)
	default:
		ln.closeLink(l)
	}
}

// tickMaster closes links of observers that are silent or too slow.
func (ln *learner) tickMaster() {
	if !ln.masters() {
		return
	}
	t := &ln.cfg.Timing
	look := ln.now%int64(t.TickTime/2) == 0
	for _, l := range slices.Backward(ln.links) {
		switch {
		case !l.master || l.stage < linkInvited:
		case ln.now-l.heard > l.limit(t),
			look && l.stage >= linkSyncing && ln.lag(l.sent) > ln.cfg.Limits.LagBytes:
			ln.closeLink(l)
		}
	}
}

// lag returns how many bytes of the txns that observers are shown come after z.
func (ls *learners) lag(z proto.Zxid) (bytes int) {
	for _, t := range ls.log.window.between(z, ls.shown()) {
		bytes += len(t.Payload)
	}
	return bytes
}

// pingObservers passes on a PING of the leader, so that its news of the sessions of this server reach the
// observers at once. If the leader pings its followers more often than every half tick, because of syncs, the
// extra pings are not passed on.
func (ln *learner) pingObservers() {
	if !ln.masters() || ln.now-ln.pinged < int64(ln.cfg.Timing.TickTime/4) {
		return
	}
	ln.pinged = ln.now
	for _, l := range ln.links {
		if l.master && l.stage >= linkSyncing {
			ln.pingTo(l)
		}
	}
}

// streamOn sends the learners the new txns before this role ends.
func (ls *learners) streamOn() {
	ls.deliver() // the clients of this server hear of these commits
	ls.stream()
}
