package zab

import (
	"fmt"
	"slices"

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
	*learners
	stage      leaderStage
	electors   quorum.Set // voters that elected this server
	connecting quorum.Set // voters that have sent their acceptedEpoch
	electing   quorum.Set // voters that have promised the epoch
	promises   uint64     // that were counted: see confirmed
	synced     quorum.Set // voters that have acknowledged NEWLEADER
	summary    Vote       // what this server had when it was elected
	since      int64      // tick at which the stage began
	limit      int        // ticks for each stage before serving
	together   int64      // tick at which a quorum was last connected

	acked [quorum.VotersMax]proto.Zxid // by voter: durable there through this proposal of the epoch

	renewal renewal

	unfit quorum.Set // voters that should rather not lead

	handover handover

	syncs     []syncRequest
	syncsEver uint64 // how many there were
}

// begin offers an epoch to the learners that have come already.
func (ld *leader) begin() {
	if !ld.beginEpoch() {
		return
	}
	ld.connecting = ld.connecting.With(ld.self)
	for _, l := range slices.Clone(ld.links) {
		switch {
		case l.stage != linkWaiting:
		case l.master || ld.ahead(l):
			ld.closeLink(l)
		default:
			ld.compare(l)
			ld.offerEpoch(l)
		}
	}
	ld.fixEpoch()
}

// stepDown gives the leadership up.
func (ld *leader) stepDown(format string, args ...any) { ld.look(-1, describe(format, args...)) }

// deserted ends the leading of this server if no quorum comes and a voter that elected it looks for a leader
// again: perhaps too few voters still wait for this server, so the sooner it looks itself, the better. Source:
// quorum-protocol 5.3.
func (ld *leader) deserted(voter int) bool {
	wait := ld.cfg.Timing.EpochWait
	if ld.role != Leading || ld.stage != leaderCollecting || wait == 0 || ld.now-ld.since <= int64(wait) ||
		!ld.electors.Has(voter) {
		return false
	}
	ld.status.Deserted++
	ld.stepDown("voter %d, who has elected this server, looks for a leader again", ld.voters.ids[voter])
	return true
}

// beginEpoch makes the epoch larger than the one that this server has accepted.
func (ld *leader) beginEpoch() bool {
	if ld.log.epochs.Accepted+1 >= epochMax {
		ld.fatal(fmt.Errorf("zab: epochs are exhausted: acceptedEpoch is %d", ld.log.epochs.Accepted))
		return false
	}
	ld.epoch = ld.log.epochs.Accepted + 1
	return true
}

// raiseEpoch makes the epoch larger than an epoch that a learner says to have accepted, within epochStep.
func (ld *leader) raiseEpoch(accepted int64) {
	ld.epoch = max(ld.epoch, min(accepted+1, ld.log.epochs.Accepted+epochStep, epochMax-1))
}

// offerEpoch takes the acceptedEpoch of a learner. Source: quorum-protocol 5.2 step 2.
func (ld *leader) offerEpoch(l *link) {
	if ld.stage == leaderCollecting && !l.parted {
		ld.raiseEpoch(l.accepted)
		if l.voter >= 0 {
			ld.connecting = ld.connecting.With(l.voter)
		}
		ld.fixEpoch()
	}
}

// fixEpoch decides the epoch once a quorum has sent its acceptedEpoch.
func (ld *leader) fixEpoch() {
	if ld.role != Leading || ld.stage != leaderCollecting || !ld.connecting.Has(ld.self) ||
		!ld.voters.decides(ld.connecting) {
		return
	}
	ld.stage, ld.since, ld.together = leaderPromising, ld.now, ld.now
	ld.phase = Synchronization
	ld.status.Epoch = ld.epoch
	ld.log.persistAccepted(ld.epoch)
	ld.numberFirst()
}

// settle takes the steps that have become possible by the writes that are durable now.
func (ld *leader) settle() {
	if ld.stage >= leaderPromising && ld.log.stable.epochs.Accepted == ld.epoch {
		ld.electing = ld.electing.With(ld.self)
		for i := 0; i < len(ld.links); i++ {
			if l := ld.links[i]; l.stage == linkWaiting && !ld.waitsForNext(l) && !ld.invite(l, ld.epoch) {
				i-- // the link was closed
			}
		}
		ld.decideHistory()
	}
	if ld.stage == leaderSyncing && ld.log.stable.epochs.Current == ld.epoch && !ld.synced.Has(ld.self) {
		if ld.log.stable.last < ld.summary.Zxid {
			violated("the leader counts itself for history up to %v, but %v is durable",
				ld.summary.Zxid, ld.log.stable.last)
		}
		ld.synced = ld.synced.With(ld.self)
		ld.establish()
	}
	if ld.stage >= leaderBarrier {
		own := ld.log.stable.last
		if own.Epoch() == ld.epoch {
			ld.acked[ld.self] = own
		}
		if ld.countAcks(); ld.change != nil {
			return
		}
		ld.renew()
		ld.answerSyncs()
		ld.tryHandOver()
	}
}

func (ld *leader) step(m *Message) {
	l := ld.find(m.Link)
	if l == nil {
		return
	}
	l.heard = ld.now
	switch m.Type {
	case AckEpoch:
		ld.ackEpoch(l, m)
	case Ack:
		ld.ack(l, m)
	case Ping:
		l.pongs = min(l.pongs+1, l.pings)
	default:
		ld.closeLink(l)
	}
}

// ackEpoch takes a learner's promise. A voter that has more history than this server shows that another server
// should lead. Java accepts it once a quorum has promised. Here it is refused until the epoch is established,
// because a server that lost its disk may have promised before the loss and may have learned of commits since.
// Source: quorum-protocol 5.2 step 4.
func (ld *leader) ackEpoch(l *link, m *Message) {
	if l.stage == linkUpToDate && l.promiseNext() {
		return
	}
	if l.confirms < l.asks {
		l.confirms++
		ld.decideHistory()
		return
	}
	if l.stage != linkInvited || m.Zxid < 0 || l.parted {
		ld.closeLink(l)
		return
	}
	l.ackEpoch, l.position = m.Epoch, m.Zxid
	l.stage = linkPromised
	if ld.stage < leaderBarrier && m.Epoch != -1 && l.voter >= 0 {
		if ld.hasMore(m) {
			ld.refuse(l)
			return
		}
		ld.electing = ld.electing.With(l.voter)
		ld.promises++
	}
	ld.decideHistory()
	if ld.role == Leading && ld.stage >= leaderSyncing && l.stage == linkPromised {
		ld.startSync(l)
	}
}

// hasMore reports whether a voter that promises the epoch has a later history than this server. A voter whose
// history ends with the same txn has the same history, whatever leaders it has followed since. While a
// reconfiguration is pending, such a voter may be one that is not a candidate, so it cannot lead instead.
func (ld *leader) hasMore(m *Message) bool {
	if ld.next != nil && m.Zxid == ld.summary.Zxid {
		return false
	}
	return Vote{Zxid: m.Zxid, Epoch: m.Epoch}.exceeds(ld.summary)
}

// refuse closes the link of a voter that has more than this server, and steps down if the rest is no quorum.
func (ld *leader) refuse(l *link) {
	epoch, zxid, peer := l.ackEpoch, l.position, l.peer
	ld.closeLink(l)
	if !ld.voters.decides(ld.connected()) {
		ld.stepDown("server %d has (%d, %v), which is more than (%d, %v)", peer, epoch, zxid, ld.summary.Epoch,
			ld.summary.Zxid)
	}
}

// decideHistory begins synchronization once a quorum has promised the epoch and remembers it.
func (ld *leader) decideHistory() {
	if ld.stage != leaderPromising || !ld.electing.Has(ld.self) || !ld.voters.decides(ld.electing) ||
		!ld.voters.decides(ld.confirmed()) {
		return
	}
	ld.stage, ld.since = leaderSyncing, ld.now
	ld.log.persistCurrent(ld.epoch, ld.reign())
	for _, l := range slices.Clone(ld.links) {
		if l.stage == linkPromised {
			ld.startSync(l)
		}
	}
}

// reign returns the lineage with the epoch of this leader.
func (ld *leader) reign() *Lineage {
	next := ld.identify(ld.predecessor())
	mark := ld.cfg.Rand.Uint64() | 1 // not 0
	// No epoch between the last one and this one was established: a quorum has promised this epoch, and no server
	// of that quorum has adopted a later epoch than the last one.
	return next.adopting(Reign{Epoch: ld.epoch, Leader: ld.cfg.ID, Mark: mark, Base: ld.log.window.last()})
}

// predecessor returns the lineage of this server, or that of a voter which has adopted a later epoch with the same
// history (see hasMore). If it is not known here how the last epoch began, a voter that knows tells its identity.
func (ld *leader) predecessor() *Lineage {
	last := ld.log.lineage
	for _, l := range ld.links {
		switch {
		case l.voter < 0 || l.stage != linkPromised || !ld.electing.Has(l.voter) || l.ackEpoch < last.Epoch():
		case l.ackEpoch == last.Epoch():
			// This server was killed between the txns and the epoch of NEWLEADER (see New), or has lost what it knew
			// of the epoch. The voter knows which identity the epoch has. How it began is not taken over: with an
			// exchanged disk this may be another history.
			if l.lineage != nil && l.lineage.Epoch() == l.ackEpoch && l.lineage.knows() && !last.knows() &&
				l.lineage.Ensemble != 0 {
				last = last.doubted().identified(l.lineage.Ensemble, false)
			}
		case l.lineage != nil && l.lineage.Epoch() == l.ackEpoch:
			last = l.lineage.settled(ld.log.lineage.Settled)
		default:
			last = ld.log.lineage.upTo(l.ackEpoch)
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
func (ld *leader) identify(l *Lineage) *Lineage {
	keepers := quorum.Set(0).With(ld.self)
	for _, k := range ld.links {
		if k.voter < 0 || k.stage != linkPromised || !ld.electing.Has(k.voter) || k.lineage == nil {
			continue
		}
		keepers = keepers.With(k.voter)
		if of := k.lineage.Epoch() == l.Epoch(); l.Ensemble == 0 || of && k.lineage.Final {
			l = l.identified(k.lineage.Ensemble, of && k.lineage.Final)
		}
	}
	if l.Ensemble == 0 && ld.voters.decides(keepers) {
		l = l.identified(ld.cfg.Rand.Uint64()|1, false)
	}
	return l
}

// establish begins broadcast once a quorum has adopted the history. Source: quorum-protocol 6.6.
func (ld *leader) establish() {
	if ld.stage != leaderSyncing || !ld.synced.Has(ld.self) || !ld.voters.decides(ld.synced) {
		return
	}
	if !ld.adoptFirst() {
		return
	}
	ld.stage, ld.since, ld.established = leaderServing, ld.now, true
	ld.proposed = proto.MakeZxid(ld.epoch, 0)
	ld.log.committed = max(ld.log.last, ld.proposed)
	ld.vote.Epoch = ld.epoch
	ld.phase = Broadcast
	ld.status.Outside = nil
	ld.log.noteLineage(ld.log.lineage.settled(ld.log.committed).identified(ld.log.lineage.Ensemble, true))
	java := false
	for _, l := range ld.links {
		java = java || l.voter >= 0 && !l.warren
		if l.stage == linkSynced {
			ld.admit(l)
		}
	}
	if java && ld.cfg.Barrier != nil {
		ld.stage = leaderBarrier
		ld.offer(Txn{Zxid: ld.proposed + 1, Payload: ld.cfg.Barrier(ld.proposed + 1)})
		return
	}
	ld.status.Serving = true
}
