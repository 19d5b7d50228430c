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
	*learners
	queue    masterQueue // kept from role to role
	leader   proto.ServerID
	master   proto.ServerID // the server from which this server learns: the leader, or a follower
	link     LinkID
	stage    lnStage
	claimed  proto.Zxid // the end of the history that the leader was elected with; 0 if not known
	warren   bool       // the leader understands cumulative ACKs
	lineage  *Lineage   // of the leader, as LEADERINFO says
	renewal  learnerRenewal
	repeated bool  // the epoch had been promised before
	askedAll bool  // a snapshot was asked for
	attempts int   // attempts to connect
	since    int64 // tick at which this server began to follow
	pause    int   // ticks until the next attempt
	heard    int64 // tick of the last message
	pinged   int64 // tick at which the observers of this server were sent PING last

	sync      Type       // Diff, Trunc or Snap
	snap      proto.Zxid // zxid of SNAP
	pending   window     // txns received in synchronization, not yet in the history of this server
	committed proto.Zxid // all up to here is committed, if the epoch of the leader is established
	history   proto.Zxid // end of the history at NEWLEADER
	adopts    Seq        // the write after which that history and its epoch are durable
	acked     proto.Zxid // proposals up to here were acknowledged
}

// learnerRenewal is the progress of a learner that is up to date with the next epoch of its leader: see renewal.go.
type learnerRenewal struct {
	next     int64 // that epoch; 0 if there is none
	promises int   // promises of it that have not left
	adopting bool  // NEWLEADER of it was received and is not acknowledged
}

// begin connects to the leader; an observer may wait first.
func (ln *learner) begin() {
	if pause := ln.part(ln.cfg.Timing.ObserverDialPause); ln.role == Observing && pause > 0 {
		ln.pause, ln.heard = pause, ln.now+int64(pause)
		return
	}
	ln.dial()
}

func (ln *learner) dial() {
	ln.attempts++
	ln.stage = lnDialing
	ln.link = ln.nextLink
	ln.nextLink++
	ln.out.Dial = append(ln.out.Dial, ln.source())
}

// introduce sends the first message to the leader.
func (ln *learner) introduce() {
	ln.stage = lnInfo
	ln.heard = ln.now
	t := FollowerInfo
	if ln.role == Observing {
		t = ObserverInfo
	}
	// acceptedEpoch is durable: nothing was in flight when the election began.
	ln.tell(Message{Type: t, Epoch: ln.log.stable.epochs.Accepted,
		Zxid: proto.MakeZxid(ln.log.stable.epochs.Accepted, 0), ConfigVersion: int64(ln.active.Version), Warren: true,
		Repeat: true, Blank: ln.log.stable.blank, Whole: ln.wantsAll, Lineage: ln.log.lineage})
}

// tell hands the host a message to the leader that promises nothing.
func (ln *learner) tell(m Message) {
	m.Link, m.To = ln.link, ln.master
	ln.send(m)
}

// promise hands the host a promise to the leader.
func (ln *learner) promise(p promise) { ln.outbox.promise(ln.link, ln.master, p) }

func (ln *learner) disconnected() {
	if ln.stage == lnDialing && ln.attempts < ln.cfg.Timing.DialAttempts {
		ln.stage, ln.link, ln.pause = lnPause, 0, ln.cfg.Timing.DialPause
		return
	}
	ln.link = 0
	ln.queue.refused = ln.stage == lnInfo && ln.master != ln.leader
	ln.leave("the connection to leader %d ended", ln.master)
}

// leave ends the connection to the leader and looks for one again. Txns that were received in synchronization and
// not adopted are dropped: the leader has them in its log. Source: quorum-protocol 6.8 S1.
func (ln *learner) leave(format string, args ...any) {
	reason := describe(format, args...)
	if ln.master != ln.leader {
		reason += describe(" (an observer master: the leader is %d)", ln.leader)
	}
	ln.look(-1, reason)
}

func (ln *learner) tick() {
	ln.tickLinks()
	ln.tickMaster()
	t := &ln.cfg.Timing
	if ln.stage == lnPause {
		if ln.pause--; ln.pause <= 0 {
			ln.dial()
		}
	}
	limit := t.InitLimit * t.TickTime
	switch {
	case ln.stage <= lnDialing && t.DialLimit > 0:
		limit = t.DialLimit * t.TickTime
	case ln.stage >= lnAdopted:
		limit = t.SyncLimit * t.TickTime
	}
	if ln.now-ln.heard > int64(limit) {
		ln.leave("leader %d was not heard for %s", ln.master, ln.cfg.Timing.told(int64(limit)))
	}
}

// step handles a message of the leader. Messages of older connections are refused.
func (ln *learner) step(m *Message) {
	if m.Link != ln.link {
		if l := ln.find(m.Link); l != nil && l.master {
			ln.stepMaster(l, m)
			return
		}
	}
	if m.Link != ln.link || m.Link == 0 || ln.stage < lnInfo {
		return
	}
	ln.heard = ln.now
	switch m.Type {
	case LeaderInfo:
		ln.leaderInfo(m)
	case Diff, Trunc, Snap:
		ln.syncBegins(m)
	case Proposal:
		ln.proposed(m)
	case Commit:
		ln.commit(m, ln.leader)
	case Inform:
		ln.inform(m, ln.leader)
	case Activate:
		ln.commit(m, m.Leader)
	case InformActive:
		ln.inform(m, m.Leader)
	case NewLeader:
		ln.newLeader(m)
	case UpToDate:
		ln.upToDate(m)
	case Ping:
		if ln.stage == lnUpToDate {
			ln.tell(Message{Type: Ping, Zxid: m.Zxid})
			ln.pingObservers()
		}
	case HandOver:
		ln.follow(m)
	case SyncReply:
		// The host has seen the message on the wire; for the agreement it means nothing.
	default:
		ln.leave("leader %d sent %v", ln.master, m.Type)
	}
}

// leaderInfo promises the epoch, unless this server has promised a later one. Source: quorum-protocol 5.4.
func (ln *learner) leaderInfo(m *Message) {
	if ln.partsFrom(m) || ln.promiseNext(m) {
		return
	}
	if ln.stage == lnPromised && m.Epoch == ln.epoch {
		// The leader asks for confirmation: see blank.go.
		ln.promise(ln.log.stable.ackEpoch(ln.epoch, ln.repeated))
		return
	}
	if ln.stage != lnInfo || m.Epoch < ln.log.epochs.Accepted || m.Epoch >= epochMax {
		if m.Epoch < ln.log.epochs.Accepted {
			ln.refusedBy(describe("leader %d offers epoch %d, but this server has promised %d", ln.leader, m.Epoch,
				ln.log.epochs.Accepted), m.Lineage)
		}
		ln.leave("leader %d offers epoch %d, but %d was accepted", ln.master, m.Epoch, ln.log.epochs.Accepted)
		return
	}
	ln.epoch, ln.warren, ln.lineage = m.Epoch, m.Warren, m.Lineage
	ln.repeated = m.Epoch == ln.log.epochs.Accepted
	if m.Epoch > ln.log.epochs.Accepted {
		ln.log.persistAccepted(m.Epoch)
	}
	ln.stage = lnPromise
	ln.phase = Synchronization
	ln.status.Epoch = m.Epoch
}

// partsFrom compares this server with the leader before any promise, and leaves the leader if their histories
// differ.
func (ln *learner) partsFrom(m *Message) bool {
	from := *m
	from.From = ln.master
	reason := ""
	switch d := ln.meetStranger(&from); {
	case d != nil:
		reason = d.Text
	case m.Refused && ln.log.epochs.Accepted > m.Epoch:
		reason = describe("leader %d of epoch %d does not believe that this server has promised epoch %d: "+
			"acceptedEpoch is damaged, or from elsewhere", ln.master, m.Epoch, ln.log.epochs.Accepted)
	case m.Refused:
		reason = describe("leader %d of epoch %d refuses a history that ends in epoch %d", ln.master, m.Epoch,
			ln.log.lineage.Epoch())
		ln.refusedAsStranger(m, reason)
	default:
		return false
	}
	ln.refusedBy(reason, m.Lineage)
	ln.leave("the history of leader %d is another one: %s", ln.master, reason)
	return true
}

// settle sends the promises that have become true.
func (ln *learner) settle() {
	switch ln.stage {
	case lnPromise:
		if ln.log.stable.epochs.Accepted == ln.epoch {
			p := ln.log.stable.ackEpoch(ln.epoch, ln.repeated)
			if ln.wantsAll && ln.lineage == nil { // a leader without lineage understands no other request
				p = ln.log.stable.ackEpochWithNothing(ln.epoch)
			}
			ln.wantsAll, ln.askedAll = false, ln.wantsAll
			ln.promise(p)
			ln.stage = lnPromised
		}
	case lnAdopting:
		if ln.log.stable.seq >= ln.adopts { // txns behind NEWLEADER may always be in flight
			ln.promise(ln.log.stable.ackNewLeader(ln.epoch, ln.history))
			ln.stage = lnAdopted
		}
	case lnUpToDate:
		ln.acknowledge()
		ln.settleNext()
	}
}

// acknowledge tells the leader what has become durable: one ACK for all to a Warren leader, one for each txn to
// others.
func (ln *learner) acknowledge() {
	upTo := ln.log.stable.last
	if ln.role != Following || upTo <= ln.acked {
		return
	}
	if ln.warren {
		ln.promise(ln.log.stable.ack(upTo))
	} else {
		for _, t := range ln.log.window.between(ln.acked, upTo) {
			ln.promise(ln.log.stable.ack(t.Zxid))
		}
	}
	ln.acked = upTo
}

// follow obeys the HandOver of a leader.
func (ln *learner) follow(m *Message) {
	if ln.stage != lnUpToDate || !ln.active.Votes(m.Leader) {
		ln.leave("leader %d hands over to %d before synchronization has ended", ln.master, m.Leader)
		return
	}
	for _, l := range ln.links {
		if l.master && l.stage == linkUpToDate && l.warren {
			ln.streamTo(l)
			l.send(Message{Type: HandOver, Leader: m.Leader})
		}
	}
	ln.look(m.Leader, describe("leader hands over to %d", m.Leader))
}
