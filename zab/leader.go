package zab

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// leaderStage is how far a leader has come.
type leaderStage uint8

const (
	leaderCollecting leaderStage = iota // FOLLOWERINFO of a quorum is awaited
	// The epoch is fixed; LEADERINFO leaves when acceptedEpoch is durable; ACKEPOCH is awaited.
	leaderPromising
	leaderSyncing // the history is decided; ACK of NEWLEADER of a quorum is awaited
	// The epoch is established, but not all followers are known to have its history.
	leaderBarrier
	leaderServing // writes are accepted
)

// leader is the state of a server that leads or tries to.
type leader struct {
	stage      leaderStage
	electors   quorum.Set // voters that elected this server
	connecting quorum.Set // voters that have sent their acceptedEpoch
	electing   quorum.Set // voters that have promised the epoch
	round      uint64     // promises that were counted: see confirmed
	synced     quorum.Set // voters that have acknowledged NEWLEADER
	summary    Vote       // what this server had when it was elected
	since      int64      // tick at which the stage began
	limit      int        // ticks for each stage before serving
	together   int64      // tick at which a quorum was last connected

	proposed proto.Zxid                   // last proposal; (epoch, 0) before the first
	acked    [quorum.VotersMax]proto.Zxid // by voter: durable there through this proposal of the epoch

	renewal renewal

	unfit quorum.Set // voters that should rather not lead

	handing  bool // no more proposals: the leadership is handed over, or ends
	stopping bool // and afterwards this server takes part in nothing
	handedAt int64
	named    bool           // heir is to lead next, if it can
	heir     proto.ServerID // REQUIRES: named

	syncs []syncRequest
}

// becomeLeading begins discovery. The whole history of this server, committed or not, is the history that it
// leads with.
func (c *Core) becomeLeading(limit int, electors quorum.Set) {
	c.enter(Leading, Discovery)
	c.status.Leader, c.status.Master = c.cfg.ID, c.cfg.ID
	c.step, c.tick, c.settle = c.stepLeader, c.tickLeader, c.settleLeader
	c.ld = leader{since: c.now, limit: limit, summary: c.log.stable.vote(c.cfg.ID), electors: electors}
	if c.beginEpoch() {
		c.ld.connecting = c.ld.connecting.With(c.self)
		for _, l := range append([]*link(nil), c.links...) {
			switch {
			case l.stage != linkWaiting || c.role != Leading:
			case l.master || c.ahead(l):
				c.closeLink(l)
			default:
				c.compare(l)
				c.offerEpoch(l)
			}
		}
		c.fixEpoch()
	}
}

// stepDown gives the leadership up.
func (c *Core) stepDown(format string, args ...any) { c.becomeLooking(describe(format, args...)) }

// deserted ends the leading of this server if no quorum comes and a voter that elected it looks for a leader
// again: perhaps too few voters still wait for this server, so the sooner it looks itself, the better. Source:
// quorum-protocol 5.3.
func (c *Core) deserted(voter int) bool {
	ld, wait := &c.ld, c.cfg.Timing.EpochWait
	if c.role != Leading || ld.stage != leaderCollecting || wait == 0 || c.now-ld.since <= int64(wait) ||
		!ld.electors.Has(voter) {
		return false
	}
	c.status.Deserted++
	c.stepDown("voter %d, who has elected this server, looks for a leader again", c.voters.ids[voter])
	return true
}

// beginEpoch makes the epoch larger than the one that this server has accepted.
func (c *Core) beginEpoch() bool {
	if c.log.epochs.Accepted+1 >= epochMax {
		c.fatal(fmt.Errorf("zab: epochs are exhausted: acceptedEpoch is %d", c.log.epochs.Accepted))
		return false
	}
	c.epoch = c.log.epochs.Accepted + 1
	return true
}

// raiseEpoch makes the epoch larger than an epoch that a learner says to have accepted, within epochStep.
func (c *Core) raiseEpoch(accepted int64) {
	c.epoch = max(c.epoch, min(accepted+1, c.log.epochs.Accepted+epochStep, epochMax-1))
}

// offerEpoch takes the acceptedEpoch of a learner. Source: quorum-protocol 5.2 step 2.
func (c *Core) offerEpoch(l *link) {
	ld := &c.ld
	if ld.stage == leaderCollecting && !l.parted {
		c.raiseEpoch(l.accepted)
		if l.voter >= 0 {
			ld.connecting = ld.connecting.With(l.voter)
		}
		c.fixEpoch()
	}
}

// fixEpoch decides the epoch once a quorum has sent its acceptedEpoch.
func (c *Core) fixEpoch() {
	ld := &c.ld
	if c.role != Leading || ld.stage != leaderCollecting || !ld.connecting.Has(c.self) ||
		!c.voters.decides(ld.connecting) {
		return
	}
	ld.stage, ld.since, ld.together = leaderPromising, c.now, c.now
	c.phase = Synchronization
	c.status.Epoch = c.epoch
	c.log.persistAccepted(c.epoch)
	c.numberFirst()
}

// settleLeader takes the steps that have become possible by the writes that are durable now.
func (c *Core) settleLeader() {
	ld := &c.ld
	if ld.stage >= leaderPromising && c.log.stable.epochs.Accepted == c.epoch {
		ld.electing = ld.electing.With(c.self)
		for i := 0; i < len(c.links); i++ {
			if l := c.links[i]; l.stage == linkWaiting && !c.awaitsRenewal(l) && !c.invite(l, c.epoch) {
				i-- // the link was closed
			}
		}
		c.decideHistory()
	}
	if ld.stage == leaderSyncing && c.log.stable.epochs.Current == c.epoch && !ld.synced.Has(c.self) {
		if c.log.stable.last < ld.summary.Zxid {
			violated("the leader counts itself for history up to %v, but %v is durable",
				ld.summary.Zxid, c.log.stable.last)
		}
		ld.synced = ld.synced.With(c.self)
		c.establish()
	}
	if ld.stage >= leaderBarrier {
		own := c.log.stable.last
		if own.Epoch() == c.epoch {
			ld.acked[c.self] = own
		}
		c.countAcks()
		c.settleRenewal()
		c.answerSyncs()
		c.tryHandOver()
	}
}

func (c *Core) stepLeader(m *Message) {
	l := c.linkOf(m)
	if l == nil {
		return
	}
	l.heard = c.now
	switch m.Type {
	case AckEpoch:
		c.ackEpoch(l, m)
	case Ack:
		c.ack(l, m)
	case Ping:
		l.pongs = min(l.pongs+1, l.pings)
	default:
		c.closeLink(l)
	}
}

// ackEpoch takes a learner's promise. A voter that has more history than this server shows that another server
// should lead. Java accepts it once a quorum has promised. Here it is refused until the epoch is established,
// because a server that lost its disk may have promised before the loss and may have learned of commits since.
// Source: quorum-protocol 5.2 step 4.
func (c *Core) ackEpoch(l *link, m *Message) {
	ld := &c.ld
	if l.stage == linkUpToDate && l.renewalPromise() {
		return
	}
	if l.confirms < l.asks {
		l.confirms++
		c.decideHistory()
		return
	}
	if l.stage != linkInvited || m.Zxid < 0 || l.parted {
		c.closeLink(l)
		return
	}
	l.ackEpoch, l.position = m.Epoch, m.Zxid
	l.stage = linkPromised
	if ld.stage < leaderBarrier && m.Epoch != -1 && l.voter >= 0 {
		if c.hasMore(m) {
			c.refuse(l)
			return
		}
		ld.electing = ld.electing.With(l.voter)
		ld.round++
	}
	c.decideHistory()
	if c.role == Leading && ld.stage >= leaderSyncing && l.stage == linkPromised {
		c.startSync(l)
	}
}

// hasMore reports whether a voter that promises the epoch has a later history than this server. A voter whose
// history ends with the same txn has the same history, whatever leaders it has followed since. While a
// reconfiguration is pending, such a voter may be one that is not a candidate, so it cannot lead instead.
func (c *Core) hasMore(m *Message) bool {
	own := c.ld.summary
	if c.next != nil && m.Zxid == own.Zxid {
		return false
	}
	return m.Epoch > own.Epoch || m.Epoch == own.Epoch && m.Zxid > own.Zxid
}

// refuse closes the link of a voter that has more than this server, and steps down if the rest is no quorum.
func (c *Core) refuse(l *link) {
	epoch, zxid, peer := l.ackEpoch, l.position, l.peer
	c.closeLink(l)
	if !c.voters.decides(c.connected()) {
		c.stepDown("server %d has (%d, %v), which is more than (%d, %v)", peer, epoch, zxid, c.ld.summary.Epoch,
			c.ld.summary.Zxid)
	}
}

// decideHistory begins synchronization once a quorum has promised the epoch and remembers it.
func (c *Core) decideHistory() {
	ld := &c.ld
	if ld.stage != leaderPromising || !ld.electing.Has(c.self) || !c.voters.decides(ld.electing) ||
		!c.voters.decides(c.confirmed()) {
		return
	}
	ld.stage, ld.since = leaderSyncing, c.now
	c.log.persistCurrent(c.epoch, c.reign())
	for _, l := range append([]*link(nil), c.links...) {
		if l.stage == linkPromised {
			c.startSync(l)
		}
	}
}

// reign returns the lineage with the epoch of this leader.
func (c *Core) reign() *Lineage {
	next := c.identify(c.predecessor())
	mark := c.cfg.Rand.Uint64() | 1 // not 0
	// No epoch between the last one and this one was established: a quorum has promised this epoch, and no server
	// of that quorum has adopted a later epoch than the last one.
	return next.adopting(Reign{Epoch: c.epoch, Leader: c.cfg.ID, Mark: mark, Base: c.log.window.last()})
}

// predecessor returns the lineage of this server, or that of a voter which has adopted a later epoch with the same
// history (see hasMore). If it is not known here how the last epoch began, a voter that knows tells its identity.
func (c *Core) predecessor() *Lineage {
	last := c.log.lineage
	for _, l := range c.links {
		switch {
		case l.voter < 0 || l.stage != linkPromised || !c.ld.electing.Has(l.voter) || l.ackEpoch < last.Epoch():
		case l.ackEpoch == last.Epoch():
			// This server was killed between the txns and the epoch of NEWLEADER (see New), or has lost what it knew
			// of the epoch. The voter knows which identity the epoch has. How it began is not taken over: with an
			// exchanged disk this may be another history.
			if l.lineage != nil && l.lineage.Epoch() == l.ackEpoch && l.lineage.knows() && !last.knows() &&
				l.lineage.Ensemble != 0 {
				last = last.doubted().identified(l.lineage.Ensemble, false)
			}
		case l.lineage != nil && l.lineage.Epoch() == l.ackEpoch:
			last = l.lineage.settled(c.log.lineage.Settled)
		default:
			last = c.log.lineage.upTo(l.ackEpoch)
		}
	}
	if n := len(last.Reigns); n > 0 && last.Reigns[n-1].Mark == 0 {
		last = last.doubted()
	}
	return last
}

// identify returns the lineage with the identity that this leader hands on: the one that the last epoch had, or any
// that a server of the quorum remembers. If none does, the leader draws one, if a quorum of servers that keep
// lineages has promised the epoch. Source: guarantees, "The identity of an ensemble".
func (c *Core) identify(l *Lineage) *Lineage {
	keepers := quorum.Set(0).With(c.self)
	for _, k := range c.links {
		if k.voter < 0 || k.stage != linkPromised || !c.ld.electing.Has(k.voter) || k.lineage == nil {
			continue
		}
		keepers = keepers.With(k.voter)
		if of := k.lineage.Epoch() == l.Epoch(); l.Ensemble == 0 || of && k.lineage.Final {
			l = l.identified(k.lineage.Ensemble, of && k.lineage.Final)
		}
	}
	if l.Ensemble == 0 && c.voters.decides(keepers) {
		l = l.identified(c.cfg.Rand.Uint64()|1, false)
	}
	return l
}

// establish begins broadcast once a quorum has adopted the history. Source: quorum-protocol 6.6.
func (c *Core) establish() {
	ld := &c.ld
	if ld.stage != leaderSyncing || !ld.synced.Has(c.self) || !c.voters.decides(ld.synced) {
		return
	}
	if !c.adoptFirst() {
		return
	}
	ld.stage, ld.since, c.established = leaderServing, c.now, true
	ld.proposed = proto.MakeZxid(c.epoch, 0)
	c.log.committed = max(c.log.last, ld.proposed)
	c.vote.Epoch = c.epoch
	c.phase = Broadcast
	c.status.Outside = nil
	c.log.noteLineage(c.log.lineage.settled(c.log.committed).identified(c.log.lineage.Ensemble, true))
	java := false
	for _, l := range c.links {
		java = java || l.voter >= 0 && !l.warren
		if l.stage == linkSynced {
			c.admit(l)
		}
	}
	if java && c.cfg.Barrier != nil {
		ld.stage = leaderBarrier
		c.offer(Txn{Zxid: ld.proposed + 1, Payload: c.cfg.Barrier(ld.proposed + 1)})
		return
	}
	c.status.Serving = true
}
