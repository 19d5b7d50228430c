package zab

import "github.com/seed94657493/warren/proto"

// lnStage is how far a learner has come with its leader.
type lnStage uint8

const (
	lnPause    lnStage = iota // waiting before the next attempt to connect
	lnDialing                 // connecting
	lnInfo                    // FOLLOWERINFO was sent
	lnPromise                 // LEADERINFO was received; ACKEPOCH leaves when acceptedEpoch is durable
	lnPromised                // ACKEPOCH was sent
	lnSyncing                 // DIFF, TRUNC or SNAP was received
	lnAdopting                // NEWLEADER was received; its ACK leaves when history and currentEpoch are durable
	lnAdopted                 // the ACK was sent
	lnUpToDate                // UPTODATE was received
)

// learner is the state of a server that follows or observes.
type learner struct {
	leader   proto.ServerID
	master   proto.ServerID // the server from which this server learns: the leader, or a follower
	link     LinkID
	stage    lnStage
	claimed  proto.Zxid // the end of the history that the leader was elected with; 0 if not known
	warren   bool       // the leader understands cumulative ACKs
	lineage  *Lineage   // of the leader, as LEADERINFO says
	next     int64      // the epoch in which the leader goes on: see renewal.go; 0 if there is none
	promises int        // promises of epoch next that have not left
	adopting bool       // NEWLEADER of epoch next was received and is not acknowledged
	repeated bool       // the epoch had been promised before
	askedAll bool       // a snapshot was asked for
	attempts int        // attempts to connect
	since    int64      // tick at which this server began to follow
	pause    int        // ticks until the next attempt
	heard    int64      // tick of the last message
	pinged   int64      // tick at which the observers of this server were sent PING last

	sync      Type       // Diff, Trunc or Snap
	snap      proto.Zxid // zxid of SNAP
	pending   window     // txns received in synchronization, not yet in the history of this server
	committed proto.Zxid // all up to here is committed, if the epoch of the leader is established
	history   proto.Zxid // end of the history at NEWLEADER
	acked     proto.Zxid // proposals up to here were acknowledged
}

// becomeLearner follows or observes the elected leader, whose history reaches up to claimed.
func (c *Core) becomeLearner(leader proto.ServerID, claimed proto.Zxid) {
	role := Following
	if c.active.Observes(c.cfg.ID) {
		role = Observing
	}
	c.enter(role, Discovery)
	c.status.Leader, c.status.Master = leader, leader
	c.step, c.tick, c.settle = c.stepLearner, c.tickLearner, c.settleLearner
	c.ln = learner{leader: leader, master: leader, claimed: claimed, heard: c.now, since: c.now}
	if pause := c.part(c.cfg.Timing.ObserverDialPause); role == Observing && pause > 0 {
		c.ln.pause, c.ln.heard = pause, c.now+int64(pause)
		return
	}
	c.dial()
}

func (c *Core) dial() {
	c.ln.attempts++
	c.ln.stage = lnDialing
	c.ln.link = c.nextLink
	c.nextLink++
	c.out.Dial = append(c.out.Dial, c.source())
}

// introduce sends the first message to the leader.
func (c *Core) introduce() {
	c.ln.stage = lnInfo
	c.ln.heard = c.now
	t := FollowerInfo
	if c.role == Observing {
		t = ObserverInfo
	}
	// acceptedEpoch is durable: nothing was in flight when the election began.
	c.send(Message{Type: t, To: c.ln.master, Link: c.ln.link, Epoch: c.log.stable.epochs.Accepted,
		Zxid: proto.MakeZxid(c.log.stable.epochs.Accepted, 0), ConfigVersion: int64(c.active.Version), Warren: true,
		Repeat: true, Blank: c.log.stable.blank, Whole: c.wantsAll, Lineage: c.log.lineage})
}

func (c *Core) disconnected() {
	ln := &c.ln
	if ln.stage == lnDialing && ln.attempts < c.cfg.Timing.DialAttempts {
		ln.stage, ln.link, ln.pause = lnPause, 0, c.cfg.Timing.DialPause
		return
	}
	ln.link = 0
	c.masterQueue.refused = ln.stage == lnInfo && ln.master != ln.leader
	c.leave("the connection to leader %d ended", ln.master)
}

// leave ends the connection to the leader and looks for one again. Txns that were received in synchronization and
// not adopted are dropped: the leader has them in its log. Source: quorum-protocol 6.8 S1.
func (c *Core) leave(format string, args ...any) {
	reason := describe(format, args...)
	if c.ln.master != c.ln.leader {
		reason += describe(" (an observer master: the leader is %d)", c.ln.leader)
	}
	c.becomeLooking(reason)
}

func (c *Core) tickLearner() {
	c.tickLinks()
	c.tickMaster()
	ln := &c.ln
	t := &c.cfg.Timing
	if ln.stage == lnPause {
		if ln.pause--; ln.pause <= 0 {
			c.dial()
		}
	}
	limit := t.InitLimit * t.TickTime
	switch {
	case ln.stage <= lnDialing && t.DialLimit > 0:
		limit = t.DialLimit * t.TickTime
	case ln.stage >= lnAdopted:
		limit = t.SyncLimit * t.TickTime
	}
	if c.now-ln.heard > int64(limit) {
		c.leave("leader %d was not heard for %s", ln.master, c.cfg.Timing.told(int64(limit)))
	}
}

// stepLearner handles a message of the leader. Messages of older connections are refused.
func (c *Core) stepLearner(m *Message) {
	ln := &c.ln
	if m.Link != ln.link {
		if l := c.linkOf(m); l != nil && l.master {
			c.stepMaster(l, m)
			return
		}
	}
	if m.Link != ln.link || m.Link == 0 || ln.stage < lnInfo {
		return
	}
	ln.heard = c.now
	switch m.Type {
	case LeaderInfo:
		c.leaderInfo(m)
	case Diff, Trunc, Snap:
		c.syncBegins(m)
	case Proposal:
		c.proposed(m)
	case Commit:
		c.commit(m, ln.leader)
	case Inform:
		c.inform(m, ln.leader)
	case Activate:
		c.commit(m, m.Leader)
	case InformActive:
		c.inform(m, m.Leader)
	case NewLeader:
		c.newLeader(m)
	case UpToDate:
		c.upToDate(m)
	case Ping:
		if ln.stage == lnUpToDate {
			c.send(Message{Type: Ping, To: ln.master, Link: ln.link, Zxid: m.Zxid})
			c.pingObservers()
		}
	case HandOver:
		c.follow(m)
	case SyncReply:
		// The host has seen the message on the wire; for the agreement it means nothing.
	default:
		c.leave("leader %d sent %v", ln.master, m.Type)
	}
}

// leaderInfo promises the epoch, unless this server has promised a later one. Source: quorum-protocol 5.4.
func (c *Core) leaderInfo(m *Message) {
	ln := &c.ln
	if c.partsFrom(m) || c.renewing(m) {
		return
	}
	if ln.stage == lnPromised && m.Epoch == c.epoch {
		// The leader asks for confirmation: see blank.go.
		c.promise(ln.link, ln.master, c.log.stable.ackEpoch(c.epoch, ln.repeated))
		return
	}
	if ln.stage != lnInfo || m.Epoch < c.log.epochs.Accepted || m.Epoch >= epochMax {
		if m.Epoch < c.log.epochs.Accepted {
			c.refusedBy(describe("leader %d offers epoch %d, but this server has promised %d", ln.leader, m.Epoch,
				c.log.epochs.Accepted), m.Lineage)
		}
		c.leave("leader %d offers epoch %d, but %d was accepted", ln.master, m.Epoch, c.log.epochs.Accepted)
		return
	}
	c.epoch, ln.warren, ln.lineage = m.Epoch, m.Warren, m.Lineage
	ln.repeated = m.Epoch == c.log.epochs.Accepted
	if m.Epoch > c.log.epochs.Accepted {
		c.log.persistAccepted(m.Epoch)
	}
	ln.stage = lnPromise
	c.phase = Synchronization
	c.status.Epoch = m.Epoch
}

// partsFrom compares this server with the leader before any promise, and leaves the leader if their histories
// differ.
func (c *Core) partsFrom(m *Message) bool {
	ln := &c.ln
	from := *m
	from.From = ln.master
	reason := ""
	switch d := c.meetStranger(&from); {
	case d != nil:
		reason = d.Text
	case m.Refused && c.log.epochs.Accepted > m.Epoch:
		reason = describe("leader %d of epoch %d does not believe that this server has promised epoch %d: "+
			"acceptedEpoch is damaged, or from elsewhere", ln.master, m.Epoch, c.log.epochs.Accepted)
	case m.Refused:
		reason = describe("leader %d of epoch %d refuses a history that ends in epoch %d", ln.master, m.Epoch,
			c.log.lineage.Epoch())
		c.refusedAsStranger(m, reason)
	default:
		return false
	}
	c.refusedBy(reason, m.Lineage)
	c.leave("the history of leader %d is another one: %s", ln.master, reason)
	return true
}

// settleLearner sends the promises that have become true.
func (c *Core) settleLearner() {
	ln := &c.ln
	switch ln.stage {
	case lnPromise:
		if c.log.stable.epochs.Accepted == c.epoch {
			p := c.log.stable.ackEpoch(c.epoch, ln.repeated)
			if c.wantsAll && ln.lineage == nil { // a leader without lineage understands no other request
				p = c.log.stable.ackEpochWithNothing(c.epoch)
			}
			c.wantsAll, ln.askedAll = false, c.wantsAll
			c.promise(ln.link, ln.master, p)
			ln.stage = lnPromised
		}
	case lnAdopting:
		if len(c.log.flight) == 0 && c.log.stable.epochs.Current == c.epoch && c.log.stable.last >= ln.history {
			c.promise(ln.link, ln.master, c.log.stable.ackNewLeader(c.epoch, ln.history))
			ln.stage = lnAdopted
		}
	case lnUpToDate:
		c.acknowledge()
		c.settleRenewing()
	}
}

// acknowledge tells the leader what has become durable: one ACK for all to a Warren leader, one for each txn to
// others.
func (c *Core) acknowledge() {
	ln := &c.ln
	upTo := c.log.stable.last
	if c.role != Following || upTo <= ln.acked {
		return
	}
	if ln.warren {
		c.promise(ln.link, ln.master, c.log.stable.ack(upTo))
	} else {
		for _, t := range c.log.window.between(ln.acked, upTo) {
			c.promise(ln.link, ln.master, c.log.stable.ack(t.Zxid))
		}
	}
	ln.acked = upTo
}

// follow obeys the HandOver of a leader.
func (c *Core) follow(m *Message) {
	if c.ln.stage != lnUpToDate || !c.active.Votes(m.Leader) {
		c.leave("leader %d hands over to %d before synchronization has ended", c.ln.master, m.Leader)
		return
	}
	for _, l := range c.links {
		if l.master && l.stage == linkUpToDate && l.warren {
			c.streamTo(l)
			c.send(Message{Type: HandOver, To: l.peer, Link: l.id, Leader: m.Leader})
		}
	}
	c.lookFor(m.Leader, describe("leader hands over to %d", m.Leader))
}
