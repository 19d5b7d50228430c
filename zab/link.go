package zab

import (
	"cmp"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// linkStage is how far an accepted connection has come.
type linkStage uint8

const (
	linkNew       linkStage = iota // nothing was received
	linkWaiting                    // FOLLOWERINFO was received, LEADERINFO not sent
	linkInvited                    // LEADERINFO was sent
	linkPromised                   // ACKEPOCH was received; the epoch is not decided yet
	linkStreaming                  // SNAP was sent; the host reports the end of its stream
	linkSyncing                    // the history and NEWLEADER were sent
	linkSynced                     // NEWLEADER was acknowledged; UPTODATE is held until the epoch is established
	linkUpToDate                   // UPTODATE was sent; live traffic
)

// link is one accepted connection: a learner, as its leader sees it.
type link struct {
	out      *outbox
	id       LinkID
	peer     proto.ServerID
	voter    int // place among the voters, -1 if the server has no say
	blank    bool
	observer bool
	master   bool // it connected to MasterPort
	warren   bool
	repeats  bool // it confirms its promise
	lineage  *Lineage
	parted   bool // its history is another one: it is told so, and sent nothing else
	stage    linkStage
	claim    *claim     // it waits for the place of another link; see claim.go
	outran   int64      // the epoch of this leader when it came with a later one
	asksAll  bool       // it has asked for SNAP
	whole    bool       // it is brought up to date by SNAP; from linkStreaming on
	accepted int64      // its acceptedEpoch
	config   int64      // version of the configuration that it knows to be committed
	position proto.Zxid // its last zxid, as in ACKEPOCH
	ackEpoch int64      // its currentEpoch or -1, as in ACKEPOCH

	epoch    int64 // the epoch in which it is up to date
	renewal  linkRenewal
	adopting int64 // the epoch of the NEWLEADER that was sent last, if it was in a renewal

	round          uint64 // round of the leader when this promise was last asked for again
	asks, confirms uint64 // how often the promise was asked for again, and given again

	sent      proto.Zxid // proposals up to here were sent (an observer: INFORM)
	committed proto.Zxid // commits up to here were sent
	base      proto.Zxid // its last zxid after DIFF, TRUNC or SNAP: durable once NEWLEADER is acknowledged
	acked     proto.Zxid // proposals up to here are durable at the learner
	early     proto.Zxid // the last txn that it has acknowledged before NEWLEADER

	opened int64 // tick
	heard  int64 // tick of the last message
	mark   proto.Zxid
	marked int64 // tick at which mark had been sent

	pings, pongs uint64 // sent and answered

	// Numbers of syncs: the newest that a ping asked about, and the newest that was answered.
	asked, followed uint64
	syncPings       []syncPing // not answered yet, oldest first

	answers []answer // to an observer of this follower, or held back by a renewal, oldest first
}

// send hands the host a message to the learner that promises nothing.
func (l *link) send(m Message) {
	m.Link, m.To = l.id, l.peer
	l.out.send(m)
}

// promise hands the host a promise to the learner.
func (l *link) promise(p promise) { l.out.promise(l.id, l.peer, p) }

// Accept tells the core that a learner has connected to one of the ports. It returns the number of the
// connection, or 0 if it must be closed. It may be called in any role: the learner may know before this server
// that this server leads, or that its leader serves.
func (c *Core) Accept(port Port) LinkID {
	if c.self < 0 && port == LearnerPort || c.active.Observes(c.cfg.ID) && port == MasterPort ||
		c.status.ended() || len(c.links) >= c.cfg.Limits.LinksMax {
		return 0
	}
	l := &link{out: &c.outbox, id: c.nextLink, peer: -1, voter: -1, master: port == MasterPort, opened: c.now,
		heard: c.now}
	c.nextLink++
	c.links = append(c.links, l)
	return l.id
}

// LinkUp tells the core that a connection which it had asked for is established.
func (c *Core) LinkUp(id LinkID) {
	if id != 0 && id == c.ln.link && c.ln.stage == lnDialing {
		c.ln.introduce()
	}
}

// LinkDown tells the core that a connection was closed, or could not be made. Messages sent on it may or may not
// have arrived.
func (c *Core) LinkDown(id LinkID) {
	if id == 0 || c.status.ended() {
		return
	}
	if id == c.ln.link {
		c.ln.disconnected()
		c.turn()
		return
	}
	c.drop(id)
}

// Heard tells the core that a packet which is not one of its messages has arrived on a link: the peer is alive.
func (c *Core) Heard(id LinkID) {
	if id != 0 && id == c.ln.link {
		c.ln.heard = c.now
		return
	}
	if l := c.find(id); l != nil {
		l.heard = c.now
	}
}

// invite offers the epoch to a learner. If the learner has another history, invite tells it so, closes the link
// and returns false.
func (ls *learners) invite(l *link, epoch int64) bool {
	p := ls.log.stable.leaderInfo(epoch)
	p.message.Lineage, p.message.Refused = ls.log.lineage, l.parted
	l.promise(p)
	l.stage = max(l.stage, linkInvited)
	if l.parted {
		ls.closeLink(l)
	}
	return !l.parted
}

// find returns the accepted link of a number, nil if it is closed.
func (ls *learners) find(id LinkID) *link {
	i, ok := slices.BinarySearchFunc(ls.links, id, func(l *link, id LinkID) int { return cmp.Compare(l.id, id) })
	if !ok {
		return nil
	}
	return ls.links[i]
}

// closeLink closes an accepted link.
func (ls *learners) closeLink(l *link) {
	if ls.drop(l.id) {
		ls.out.Close = append(ls.out.Close, l.id)
	}
}

// drop forgets an accepted link. It reports whether there was one.
func (ls *learners) drop(id LinkID) bool {
	n := len(ls.links)
	ls.links = slices.DeleteFunc(ls.links, func(l *link) bool { return l.id == id })
	return len(ls.links) < n
}

// learnerInfo handles the first message of a learner. A server that does not lead keeps it for a while: it may
// not know yet that it leads.
func (c *Core) learnerInfo(l *link, m *Message) {
	if l.stage != linkNew || l.claim != nil {
		c.closeLink(l)
		return
	}
	l.config = m.ConfigVersion
	if l.master && !c.welcomes(m) || m.Epoch < 0 || m.Epoch >= epochMax-1 || c.ahead(l) {
		c.closeLink(l)
		return
	}
	if !c.takesPlace(l, m) {
		return
	}
	l.peer, l.accepted, l.warren, l.repeats, l.observer = m.From, m.Epoch, m.Warren, m.Repeat, m.Type == ObserverInfo
	l.stage, l.blank, l.asksAll, l.lineage = linkWaiting, m.Blank, m.Whole, m.Lineage
	l.parted = c.meetStranger(m) != nil || c.leaps(l)
	l.voter = c.placeOf(l)
	if c.role != Leading {
		return // settleMaster handles the links of an observer master
	}
	c.ld.welcome(l)
	c.turn()
}

// welcome takes a learner that has introduced itself.
func (ld *leader) welcome(l *link) {
	if i := ld.voters.index(l.peer); i >= 0 && !ld.recall(l, i) {
		return
	}
	ld.offerEpoch(l)
	if ld.stage >= leaderPromising && l.accepted > ld.epoch && !l.parted {
		ld.outrun(l)
	}
}

// outrun deals with a learner that has promised a later epoch than that of this leader, and so cannot follow it. A
// leader that is not established goes on with the others, and gives up if they are no quorum (leader.tick); the
// next one begins a later epoch. An established leader stays. If the history of the learner is a part of that of the
// leader, the leader begins a new epoch, in which the learner can follow. Otherwise the learner is told that it has
// to stay outside. A learner without a lineage finds that out by itself.
func (ld *leader) outrun(l *link) {
	switch {
	case ld.stage < leaderBarrier || l.lineage == nil:
	case l.lineage.Epoch() > ld.epoch:
		// A quorum follows this leader, so no quorum can have promised that epoch.
		l.parted, l.voter = true, -1
		ld.strangers[l.peer] = &stranger{lineage: l.lineage, ahead: true,
			difference: &Difference{Epoch: l.lineage.Epoch(),
				Text: describe("it has adopted epoch %d, which comes after epoch %d that a quorum follows",
					l.lineage.Epoch(), ld.epoch)}}
	default:
		ld.renewal.wanted, l.outran = true, ld.epoch
	}
}

// There are only epochMax epochs, and no way back to an earlier one. What a learner says of its acceptedEpoch may come
// from a damaged file, or from a program that is no server, and the epoch of a leader becomes that of a quorum. So a
// leader goes towards a later epoch in steps: of epochStep at an election, and of epochStep once in a tick of
// ZooKeeper while it is established (renewal.go). The next step begins where a quorum has followed. An election takes
// one epoch, so what is real is rarely more than a step away. All epochs last for eight years of such steps.
const epochStep = 16

// epochLeap is how far the acceptedEpoch of a learner may be above that of its leader. A server comes that far by
// leading so many times without being heard by any other, while none of them leads.
const epochLeap = 1 << 14

// leaps reports whether the acceptedEpoch of a learner is out of reach. Such a learner is told that it has to stay
// outside.
func (ls *learners) leaps(l *link) bool {
	if l.accepted-ls.log.epochs.Accepted <= epochLeap {
		return false
	}
	if ls.voters.votes(l.peer) || ls.active.Observes(l.peer) { // only these: that bounds the map
		lineage := l.lineage
		if lineage == nil {
			lineage = &Lineage{}
		}
		ls.strangers[l.peer] = &stranger{lineage: lineage, ahead: true, difference: &Difference{Epoch: l.accepted,
			Text: describe(
				"its acceptedEpoch is %d, which cannot be if that of the leader is %d: its files are damaged, "+
					"or from elsewhere", l.accepted, ls.log.epochs.Accepted)}}
	}
	return true
}

// compare compares the history of a learner again, because this server has learned more about its own.
func (ls *learners) compare(l *link) {
	l.parted = l.parted || ls.differs(l.lineage) != nil
	l.voter = ls.placeOf(l)
}

// ahead reports whether a learner knows a later configuration than this server, if this server should serve it or
// can never learn that configuration. The first configuration is the same whatever its number: a leader that had
// numbered it, and whose epoch was lost, may have told the learner.
func (ls *learners) ahead(l *link) bool {
	own, its := ls.active.Version, proto.Zxid(l.config)
	if ls.cfg.Roster != nil && own != 0 && own.Counter() == 0 && its.Counter() == 0 {
		return false
	}
	return its > own && (ls.role == Leading || ls.cfg.Roster == nil || l.master && ls.masters())
}

// forget takes back all that was counted for a voter that has lost its disk.
func (ld *leader) forget(i int) {
	ld.connecting &^= 1 << i
	ld.electing &^= 1 << i
	ld.synced &^= 1 << i
	ld.acked[i] = 0
}

// tickLinks closes links that have waited in vain for this server to lead, or to serve.
func (ls *learners) tickLinks() {
	for _, l := range slices.Backward(ls.links) {
		if ls.now-l.opened > int64(ls.cfg.Timing.TickTime) && !(ls.serves(l) && l.stage >= linkInvited) {
			ls.closeLink(l)
		}
	}
}
