package zab

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Errors of Propose.
var (
	// ErrNotLeading is returned when this server does not lead a quorum, or is handing its leadership over.
	ErrNotLeading = errors.New("zab: not leading")
	// ErrBusy is returned when Limits.InFlight proposals wait for their quorum. The same txns may be proposed
	// again later.
	ErrBusy = errors.New("zab: too many proposals in flight")
	// ErrEpochExhausted is returned when the counter has reached its end: this leader stops and a new epoch begins.
	ErrEpochExhausted = errors.New("zab: the counter of the epoch is exhausted")
)

// Core agrees with its peers on an order of txns. It must not be used concurrently. The duties of the host are in the
// package documentation.
type Core struct {
	replica
	learners
	in        Message                     // the argument of Step, kept here so that it does not escape
	questions map[proto.ServerID]question // by server without a vote

	// The roles. Only that of replica.role is in use; the others are empty.
	el election
	ln learner
	ld leader
}

// New returns a core that looks for a leader. Call Take at once.
func New(cfg Config) (*Core, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Core{replica: replica{cfg: cfg, outbox: outbox{from: cfg.ID},
		members: members{roster: cfg.Roster, active: cfg.Ensemble, text: cfg.Ensemble.Wire(), voters: &electorate{}},
		log:     log{epochs: cfg.Epochs, last: cfg.Last, delivered: cfg.Last, blank: cfg.Blank}}}
	if cfg.Next != nil && cfg.Next.Version > cfg.Ensemble.Version {
		c.next = cfg.Next
	}
	c.strangers, c.questions = map[proto.ServerID]*stranger{}, map[proto.ServerID]question{}
	c.learners = learners{replica: &c.replica, nextLink: 1}
	c.reseat()
	if c.status.Fatal != nil {
		return nil, c.status.Fatal
	}
	c.log.window.reset(cfg.Before)
	for _, t := range cfg.Window {
		c.log.window.add(t)
	}
	c.log.stable = stable{epochs: c.log.epochs, last: c.log.last, blank: c.log.blank}
	c.vote = Vote{Leader: -1, Zxid: -1, Epoch: -1}
	c.ln.queue = masterQueue{leader: -1, last: -1}
	c.log.lineage = cfg.lineage()
	// A crash between the two halves of duty 2 leaves a history that reaches into an epoch k above currentEpoch.
	// Such a history is a prefix of a history that began with everything that the leader of k adopted, and it has
	// at least one txn of k. So this server is in the state of any follower of k that has logged this far, and
	// may say so.
	if k := c.log.last.Epoch(); k > c.log.epochs.Current {
		c.log.persistCurrent(k, c.log.lineage.upTo(k))
	}
	c.becomeLooking(&transition{leader: -1, reason: "start"})
	c.turn()
	return c, nil
}

// Step gives the core a message of a peer. For a message of a link, m.Link is the number of that link on this
// server; messages of closed or unknown links are refused. The caller may change m afterwards, but not what m
// points to.
func (c *Core) Step(m Message) {
	if c.status.ended() {
		return
	}
	c.in = m
	switch m.Type {
	case Notification:
		c.notified(&c.in)
	case Probe, ProbeReply:
		c.el.probed(&c.in)
	case FollowerInfo, ObserverInfo:
		if l := c.find(c.in.Link); l != nil {
			l.heard = c.now
			c.learnerInfo(l, &c.in)
		}
	default:
		switch c.role { // a server without a leader needs no message of a link
		case Leading:
			c.ld.step(&c.in)
		case Following, Observing:
			c.ln.step(&c.in)
		}
	}
	c.turn()
}

// Tick tells the core that one tick of Timing has passed.
func (c *Core) Tick() {
	c.now++
	if c.status.ended() {
		return
	}
	switch c.role {
	case Looking:
		c.tickLinks()
		if c.el.pause == 0 {
			c.el.tick()
		} else if c.el.pause--; c.el.pause == 0 && c.log.written() {
			c.elect()
		}
	case Leading:
		c.ld.tick()
	default:
		c.ln.tick()
	}
	c.turn()
}

// Persisted tells the core that the write seq and all before it are durable.
func (c *Core) Persisted(seq Seq) {
	n := 0
	for n < len(c.log.flight) && c.log.flight[n].seq <= seq {
		c.log.stable.is(&c.log.flight[n])
		n++
	}
	c.log.flight = slices.Delete(c.log.flight, 0, n)
	if c.log.stable.seq < seq {
		violated("write %d is reported durable, but only %d were asked for", seq, c.log.writes.seq)
	}
	if c.role == Looking && len(c.log.flight) == 0 {
		c.elect()
	}
}

// NextZxid returns the zxid that the next proposal must have. It is meaningful only while this server leads and
// Serves.
func (c *Core) NextZxid() proto.Zxid { return c.proposed + 1 }

// Propose offers txns, numbered consecutively from NextZxid, to the ensemble. Either all are taken or none. They
// are committed when Deliver returns them. If the leadership ends before, it is not known yet whether they will
// be committed. The payloads must not be changed afterwards. A reconfiguration must be the last txn of its call,
// and Ready must hold for it or be about to hold. While a reconfiguration is not committed Propose returns
// ErrBusy. Errors: ErrNotLeading, ErrBusy, ErrEpochExhausted, and others for a txn that is not a valid
// reconfiguration.
func (c *Core) Propose(txns ...Txn) error {
	ld := &c.ld
	switch {
	case c.role != Leading || ld.stage != leaderServing || ld.handover.begun || c.status.ended():
		return ErrNotLeading
	case c.log.inFlight()+len(txns) > c.cfg.Limits.InFlight || c.next != nil || ld.renewal.begun:
		return ErrBusy
	case uint64(c.proposed.Counter())+uint64(len(txns)) >= uint64(c.cfg.Limits.CounterMax):
		// A new epoch begins: hand over to the best follower; this server may be elected again. Source:
		// quorum-protocol 1.4.
		c.HandOver(false)
		return ErrEpochExhausted
	}
	var next *Ensemble
	for i, t := range txns {
		e, err := c.reconfigures(t)
		switch {
		case err != nil:
			return fmt.Errorf("zab: reconfiguration %v: %w", t.Zxid, err)
		case e != nil && (i < len(txns)-1 || e.Version != t.Zxid):
			return fmt.Errorf("zab: reconfiguration %v has version %v, or something is proposed behind it",
				t.Zxid, e.Version)
		}
		next = e
	}
	for _, t := range txns {
		c.ld.offer(t)
	}
	ld.see(next)
	return nil
}

// offer makes t the next proposal. Take hands it to the log and to the learners.
func (ld *leader) offer(t Txn) {
	ld.checkProposal(t.Zxid)
	ld.proposed = t.Zxid
	ld.log.window.add(t)
}

// Take returns what the host has to do. Its slices are valid until the next call of a method, except those of
// txns, which never change.
func (c *Core) Take() Output {
	if !c.status.ended() {
		c.settleClaims()
		switch c.role {
		case Leading:
			c.ld.settle()
		case Following, Observing:
			c.ln.settle()
		}
		c.turn()
	}
	c.log.appendTail()
	c.deliver()
	if c.masters() {
		c.ln.settleMaster()
	}
	c.stream()
	c.trim()
	c.check()
	out := c.out
	out.Persist, out.Lineage = c.log.writes.jobs, c.log.learned
	c.status.State, c.status.Phase = c.role, c.phase
	out.Status = c.status
	c.out.Send, c.out.Dial, c.out.Close, c.out.Synced = c.out.Send[:0], c.out.Dial[:0],
		c.out.Close[:0], c.out.Synced[:0]
	c.out.Throttled, c.out.Rivals = c.out.Throttled[:0], c.out.Rivals[:0]
	c.out.Deliver, c.out.Renew, c.log.learned = nil, false, nil
	c.log.writes.jobs = c.log.writes.jobs[:0]
	return out
}

// Status returns the state at the last Take.
func (c *Core) Status() Status { return c.status }

// Serves reports whether this server serves now, before Take says so in its Status.
func (c *Core) Serves() bool { return c.status.Serving }

// trim keeps the window within its limits, except for txns that are still to be delivered or streamed.
func (c *Core) trim() {
	c.log.window.trim(c.cfg.Limits.WindowTxns, c.cfg.Limits.WindowBytes, min(c.log.delivered, c.log.last, c.keep()))
}

// role changes.

func (c *Core) enter(role State, phase Phase) {
	if role != Looking && c.role != Looking {
		violated("transition %v -> %v", c.role, role)
	}
	if role == Leading && c.self < 0 {
		violated("observer %d leads", c.cfg.ID)
	}
	if role == Following && c.active.Observes(c.cfg.ID) || role == Observing && !c.active.Observes(c.cfg.ID) {
		violated("server %d is %v, but its place in the ensemble is another", c.cfg.ID, role)
	}
	c.role, c.phase = role, phase
	c.status.Serving, c.established = false, false
	c.epoch, c.status.Epoch = 0, 0
	c.status.Leader, c.status.Master = -1, -1
}

// turn carries out the changes of the role that the roles have decided.
func (c *Core) turn() {
	for c.change != nil {
		t := c.change
		c.change = nil
		switch t.to {
		case Looking:
			c.becomeLooking(t)
		case Leading:
			c.becomeLeading(t)
		default:
			c.becomeLearner(t)
		}
	}
}

// becomeLooking ends the role, and begins an election as soon as all writes are durable.
func (c *Core) becomeLooking(t *transition) {
	observed := c.role == Observing
	c.status.Stopped = c.status.Stopped || t.stop
	if c.status.Serving {
		c.log.noteLineage(c.log.lineage.settled(min(c.log.committed, c.log.stable.last)))
	}
	c.shutdown()
	c.enter(Looking, Election)
	maps.DeleteFunc(c.strangers, func(_ proto.ServerID, s *stranger) bool { return s.ahead })
	c.status.Reason = t.reason
	c.log.window.cut(c.log.last) // what was not handed out was neither sent nor logged
	c.log.committed = min(c.log.committed, c.log.last)
	if c.pendingTxn() {
		c.unsee(c.log.last)
	} else {
		c.unsee(0) // no history has the number of a first configuration: it goes with the leader that has given it
	}
	n := len(c.voters.ids)
	c.el = election{replica: &c.replica, recv: make([]entry, n), led: make([]entry, n), designated: t.leader}
	if observed && t.leader < 0 {
		c.el.pause = c.part(c.cfg.Timing.ObserverLookPause)
	}
	if c.hesitates { // the leader refuses this server, and will do so again
		c.el.pause, c.hesitates = max(c.el.pause, c.cfg.Timing.TickTime/2), false
	}
	if t.stop {
		for _, l := range slices.Backward(c.links) {
			c.closeLink(l)
		}
	} else if c.log.written() {
		c.elect()
	}
}

// elect begins the election if it was waiting for writes, or for its pause to end.
func (c *Core) elect() {
	waiting := c.el.start()
	c.turn()
	for i := range waiting {
		if c.role == Looking && c.el.running {
			c.notified(&waiting[i])
			c.turn()
		}
	}
}

// becomeLeading begins discovery. The whole history of this server, committed or not, is the history that it
// leads with.
func (c *Core) becomeLeading(t *transition) {
	c.enter(Leading, Discovery)
	c.status.Leader, c.status.Master = c.cfg.ID, c.cfg.ID
	c.ld = leader{learners: &c.learners, since: c.now, limit: t.limit, electors: t.electors,
		summary: c.log.stable.vote(c.cfg.ID)}
	c.ld.begin()
}

// becomeLearner follows or observes the elected leader.
func (c *Core) becomeLearner(t *transition) {
	role := Following
	if c.active.Observes(c.cfg.ID) {
		role = Observing
	}
	c.enter(role, Discovery)
	c.status.Leader, c.status.Master = t.leader, t.leader
	c.ln = learner{learners: &c.learners, leader: t.leader, master: t.leader, claimed: t.claimed, heard: c.now,
		since: c.now, queue: c.ln.queue}
	c.ln.begin()
}

// shutdown closes every link of a role that ends.
func (c *Core) shutdown() {
	if c.ln.link != 0 {
		c.out.Close = append(c.out.Close, c.ln.link)
	}
	for _, l := range slices.Backward(c.links) {
		if c.role == Leading || l.stage >= linkInvited {
			c.closeLink(l)
		}
	}
	c.ln, c.ld = learner{queue: c.ln.queue}, leader{}
	c.proposed, c.reconfig, c.designated = 0, 0, -1
}
