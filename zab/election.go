package zab

import (
	"maps"
	"math"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// election is the state of fast leader election. Source: quorum-protocol 3.
type election struct {
	running  bool    // false while earlier writes are not durable yet: until then this server has no vote to send
	pause    int     // ticks until an observer looks for a leader
	own      Vote    // what this server stands for
	proposal Vote    // what it votes for
	recv     []entry // by voter: votes of this round
	out      []entry // by voter: votes of servers that have a leader
	waiting  []Message
	settling bool // a quorum agrees; waiting for a better vote
	settle   int  // ticks of that
	resend   int  // ticks until the vote is repeated
	interval int  // ticks between repetitions
	nonce    uint64
	empty    quorum.Set // voters that have answered the probe that they have no data
	idle     int        // repetitions of the vote since it began, or conceded last
	patience int        // idle, when it concedes
	conceded quorum.Set // voters that this server does not vote for: see concede
	search   search     // what other voters have said of themselves

	designated proto.ServerID // leads next without an election; -1 for no server
}

// entry is a vote that was received.
type entry struct {
	present bool
	state   State
	vote    Vote
	round   int64
	version int32
}

// better reports whether a server should change its vote from cur to v. Source: quorum-protocol 3.4.
func (c *Core) better(v, cur Vote) bool {
	if i := c.active.Quorum.Index(v.Leader); i >= 0 && !c.active.Quorum.Weighs(i) {
		return false
	}
	if v.Epoch != cur.Epoch {
		return v.Epoch > cur.Epoch
	}
	if v.Zxid != cur.Zxid {
		return v.Zxid > cur.Zxid
	}
	return v.Leader > cur.Leader
}

// same reports whether two votes are for the same leadership. Source: quorum-protocol 3.5.
func same(a, b *entry) bool {
	if a.state == Looking || b.state == Looking {
		return a.vote == b.vote && a.round == b.round
	}
	if (a.version > 0) != (b.version > 0) {
		return a.vote.Leader == b.vote.Leader
	}
	return a.vote.Leader == b.vote.Leader && a.vote.Epoch == b.vote.Epoch
}

// backers returns the voters in set whose vote is the same as e.
func backers(set []entry, e *entry) (s quorum.Set) {
	for i := range set {
		if set[i].present && same(&set[i], e) {
			s = s.With(i)
		}
	}
	return s
}

// backed returns the voters that vote as this server does.
func (c *Core) backed() quorum.Set {
	return backers(c.el.recv, &entry{state: Looking, vote: c.el.proposal, round: c.round})
}

// becomeLooking ends the current role and starts an election as soon as all writes are durable.
func (c *Core) becomeLooking(reason string) { c.lookFor(-1, reason) }

// lookFor is becomeLooking, but a designated server (if not -1) leads next without an election.
func (c *Core) lookFor(designated proto.ServerID, reason string) {
	observed := c.role == Observing
	if c.status.Serving {
		c.noteLineage(c.lineage.settled(min(c.committed, c.stable.last)))
	}
	c.shutdown()
	c.enter(Looking, Election)
	maps.DeleteFunc(c.strangers, func(_ proto.ServerID, s *stranger) bool { return s.ahead })
	c.status.Reason = reason
	c.window.cut(c.last) // what was not handed out was neither sent nor logged
	c.committed = min(c.committed, c.last)
	c.step, c.tick, c.settle = c.stepLooking, c.tickLooking, func() {}
	if c.pendingTxn() {
		c.unsee(c.last)
	} else {
		c.unsee(0) // no history has the number of a first configuration: it goes with the leader that has given it
	}
	n := len(c.voters.ids)
	c.el = election{recv: make([]entry, n), out: make([]entry, n), designated: designated}
	if observed && designated < 0 {
		c.el.pause = c.part(c.cfg.Timing.ObserverLookPause)
	}
	if c.hesitates { // the leader refuses this server, and will do so again
		c.el.pause, c.hesitates = max(c.el.pause, c.cfg.Timing.TickTime/2), false
	}
	if c.written() {
		c.drained()
	}
}

// written reports whether all that was written is durable.
func (c *Core) written() bool { return len(c.flight) == 0 && len(c.writes.jobs) == 0 }

// drained begins the election: the log does not change any more. Source: quorum-protocol 10.4, B7.
func (c *Core) drained() {
	e := &c.el
	if e.running || c.status.Stopped || e.pause > 0 {
		return
	}
	e.running = true
	if e.designated >= 0 && (e.designated != c.cfg.ID || c.active.Votes(c.cfg.ID) && !c.blank) {
		c.elected(Vote{Leader: e.designated, Zxid: c.stable.last, Epoch: c.stable.epochs.Current}, c.round)
		return
	}
	e.own = Vote{Leader: math.MinInt64, Zxid: math.MinInt64, Epoch: math.MinInt64}
	if c.active.Votes(c.cfg.ID) {
		e.own = c.stable.vote(c.cfg.ID)
	}
	if c.blank && c.self >= 0 {
		e.own.Zxid = -1 // so does a server that has a vote by the pending configuration only
	}
	c.round++
	e.proposal = e.own
	e.repeats(&c.cfg.Timing, concedeAfter)
	if c.blank {
		e.nonce = c.cfg.Rand.Uint64()
		c.probe()
		if !e.running {
			return // the ensemble is new, and this server has to note that first
		}
	}
	waiting := e.waiting
	e.waiting = nil
	c.broadcastVote()
	for i := range waiting {
		if c.role == Looking && c.el.running {
			c.notified(&waiting[i])
		}
	}
}

// stepLooking ignores messages of links: a server without a leader needs none of them.
func (c *Core) stepLooking(*Message) {}

func (c *Core) tickLooking() {
	e := &c.el
	c.tickLinks()
	if e.pause > 0 {
		if e.pause--; e.pause == 0 && c.written() {
			c.drained()
		}
		return
	}
	if !e.running {
		return
	}
	if e.settling {
		if e.settle++; e.settle >= c.cfg.Timing.FinalizeWait {
			c.elected(e.proposal, c.round)
			return
		}
	}
	if e.resend--; e.resend > 0 {
		return
	}
	e.interval = min(2*e.interval, c.cfg.Timing.ResendMax)
	e.resend = e.interval
	if c.blank {
		c.probe()
	}
	if e.idle++; e.idle >= e.patience && c.self >= 0 && e.own.Zxid != -1 && !e.settling {
		c.concede()
	}
	c.broadcastVote()
}

// concedeAfter is how often a vote is repeated in vain before a server concedes. After that it is up to twice as
// often, by chance: servers that have to concede together must not do so in turns for ever.
const concedeAfter = 3

// repeats begins to repeat the vote.
func (e *election) repeats(timing *Timing, patience int) {
	e.interval = timing.ResendMin
	e.resend = e.interval
	e.idle, e.patience = 0, patience
}

// concede votes for the best server that a quorum votes for together with this server, if there is one. For a
// while it votes no more for the server of its old vote: some of that quorum know the old vote and refuse it,
// because for them that server has another history, although for this server it has not. The others that vote in vain
// as this server does concede as well, so they are counted with it. Only the server that they vote for does not. No
// server concedes to one that has less than itself: such a leader would step down as soon as it knows.
func (c *Core) concede() {
	e := &c.el
	had := e.conceded
	e.idle, e.conceded = 0, 0
	best := e.proposal
	mine := c.backed().With(c.self)
	if i := c.voters.index(e.proposal.Leader); i >= 0 && i != c.self {
		mine &^= 1 << i
	}
	for i := range e.recv {
		r := &e.recv[i]
		if !r.present || r.state != Looking || r.round != c.round || r.vote == e.proposal || e.own.exceeds(r.vote) {
			continue
		}
		if c.isStranger(r.vote.Leader) || r.vote.Leader == c.cfg.ID && r.vote != e.own {
			continue
		}
		if c.voters.decides(backers(e.recv, r)|mine) && (best == e.proposal || c.better(r.vote, best)) {
			best = r.vote
		}
	}
	if i := c.voters.index(e.proposal.Leader); best != e.proposal && i >= 0 {
		e.conceded = e.conceded.With(i)
		e.proposal = best
	}
	if had|e.conceded != 0 {
		e.repeats(&c.cfg.Timing, concedeAfter+c.cfg.Rand.IntN(concedeAfter+1))
	}
}

// newRound gives up a proposal that cannot be elected, and makes the others give it up: the proposed server does
// not have, or no longer has, the history that the vote says. All begin again with their own votes.
func (c *Core) newRound() {
	if c.self >= 0 {
		c.round++ // an observer takes the round of the voters
	}
	c.el.begins()
	c.broadcastVote()
}

// begins starts a round with the vote for this server.
func (e *election) begins() {
	clear(e.recv)
	e.settling, e.proposal = false, e.own
}

// forgets drops what voter i has said: it says something else now, which does not count.
func (e *election) forgets(i int) { e.recv[i], e.out[i] = entry{}, entry{} }

// notification returns the present notification of this server.
func (c *Core) notification(to proto.ServerID) Message {
	m := Message{Type: Notification, To: to, State: c.role, Version: 2, Config: c.text, Lineage: c.lineage,
		Vote: c.vote, Round: c.voteAt}
	if c.role == Looking {
		m.Vote, m.Round = c.el.proposal, c.round
	}
	return m
}

// broadcastVote sends the proposal to all voters, this server included.
func (c *Core) broadcastVote() {
	for _, id := range c.peers {
		c.send(c.notification(id))
	}
	if c.self >= 0 {
		m := c.notification(c.cfg.ID)
		m.From = c.cfg.ID
		c.consider(&m, c.self)
	}
}

// PeerUp tells the core that the election channel to a peer was connected anew, so that earlier messages may be
// lost.
//
// If the peer has a smaller id, this server has opened the connection and sends first, even if it is not looking.
// A Java server with quorum.auth.enableSasl waits after the greeting for the first 8 bytes and sends nothing
// before, although it is looking. It would then ask for another connection, which ends this one, and so on.
// Source: quorum-protocol 13.1; SendWorker of ZooKeeper repeats its last message on every new connection.
func (c *Core) PeerUp(id proto.ServerID) {
	c.meetAgain(id)
	switch {
	case c.role == Looking && c.el.running && c.voters.votes(id) && id != c.cfg.ID:
		c.send(c.notification(id))
	case c.role != Looking && id >= 0 && id < c.cfg.ID:
		n := c.notification(id)
		if !c.voters.votes(id) {
			n.Round = c.round
		}
		c.send(n)
	}
}

// notified is the receive dispatcher, in every state. Source: quorum-protocol 3.3.
func (c *Core) notified(m *Message) {
	if i := c.voters.index(m.From); i >= 0 && c.role == Looking && c.el.running {
		c.el.search.note(m, i)
	}
	if m.From != c.cfg.ID && c.meetStranger(m) != nil && c.role == Looking {
		c.ignoreStranger(m)
		return
	}
	if !c.isStranger(m.From) && c.meet(m) {
		return
	}
	i := c.voters.index(m.From)
	if i < 0 {
		if m.State == Looking && (c.role != Looking || c.el.running) && c.asks(m) {
			answer := c.notification(m.From)
			answer.Round = c.round
			c.send(answer)
		}
		return
	}
	if m.State < Looking || m.State > Observing || m.From == c.cfg.ID {
		return
	}
	if c.role != Looking {
		if m.State != Looking || c.isDeaf(m) {
			return
		}
		// A voter that still elects this server is about to follow it.
		if m.Vote.Leader == c.cfg.ID && m.Round == c.voteAt || !c.deserted(i) {
			c.send(c.notification(m.From))
			return
		}
	}
	if !c.el.running {
		c.stash(m)
		return
	}
	// A server without a vote is always answered, and would be answered again.
	if m.State == Looking && m.Round < c.round && c.self >= 0 {
		c.send(c.notification(m.From))
	}
	c.consider(m, i)
}

// isDeaf leaves a leader that does not know that it was elected, and to which no connection can be made: it hears
// nothing, although its votes arrive. A server that hears the votes of others leads within the time of a message, and
// at the latest when it has repeated its own vote, because it is answered. In the next round the votes of the deaf
// server are too old to count, until it hears of that round.
func (c *Core) isDeaf(m *Message) bool {
	ln := &c.ln
	if m.From != ln.leader || c.role == Leading || m.Round != c.voteAt || ln.stage > lnDialing ||
		c.now-ln.since < int64(2*c.cfg.Timing.ResendMin) {
		return false
	}
	c.leave("leader %d was elected, and looks for a leader: it does not hear", ln.leader)
	return true
}

// question is the last notification of a server without a vote that was answered.
type question struct {
	vote  Vote
	round int64
	at    int64 // tick of the answer
}

// questionsMax bounds the servers without a vote whose questions are kept.
const questionsMax = 64

// asks reports whether the notification of a server without a vote is to be answered. This server may have a vote
// in the list of that server, which then answers in turn; without a bound the two would answer each other
// forever. So the same question is answered again only after half the time after which it is repeated.
func (c *Core) asks(m *Message) bool {
	q, known := c.questions[m.From]
	if known && q.vote == m.Vote && q.round == m.Round && c.now-q.at < int64(c.cfg.Timing.ResendMin/2) {
		return false
	}
	if !known && len(c.questions) >= questionsMax {
		clear(c.questions)
	}
	c.questions[m.From] = question{vote: m.Vote, round: m.Round, at: c.now}
	return true
}

// stash keeps the newest notification of each voter until the election begins.
func (c *Core) stash(m *Message) {
	for i := range c.el.waiting {
		if c.el.waiting[i].From == m.From {
			c.el.waiting[i] = *m
			return
		}
	}
	c.el.waiting = append(c.el.waiting, *m)
}

// consider is one turn of the election loop with the notification of voter i. Source: quorum-protocol 3.6.
func (c *Core) consider(m *Message, i int) {
	votes := c.voters.votes(m.Vote.Leader)
	if !votes || c.isStranger(m.Vote.Leader) { // the sender may follow such a leader, this server must not
		c.el.forgets(i)
		if votes || c.cfg.Roster != nil {
			c.joinRound(m)
		}
		return
	}
	switch m.State {
	case Looking:
		c.considerLooking(m, i)
	case Following, Leading:
		c.considerEstablished(m, i)
	}
}

// joinRound takes the round of a voter whose vote does not count here, because such a voter does not count votes
// of earlier rounds. The voter votes for no server if it has a vote by the pending configuration only, or it
// votes for a stranger.
func (c *Core) joinRound(m *Message) {
	if m.State != Looking || m.Round <= c.round {
		return
	}
	c.round = m.Round
	c.el.begins()
	c.broadcastVote()
}

// improves reports whether this server should change its vote from cur to that of a notification, which is not stale.
func (c *Core) improves(v, cur Vote) bool {
	return c.better(v, cur) && !c.el.conceded.Has(c.voters.index(v.Leader))
}

func (c *Core) considerLooking(m *Message, i int) {
	e := &c.el
	if e.own.Zxid == -1 || m.Vote.Zxid == -1 {
		return // one of the two may have lost its disk
	}
	if c.self >= 0 && i != c.self && m.Round == c.round && m.Vote != e.proposal && c.better(e.proposal, m.Vote) {
		// The sender may have begun to look after this server had sent its vote. Java lets it wait for the
		// repetition.
		c.send(c.notification(m.From))
	}
	// A vote for this server with a history that it no longer has comes from before a restart. It must not be
	// repeated.
	stale := m.Vote.Leader == c.cfg.ID && m.Vote != e.own
	if e.settling && i != c.self {
		if (stale || !c.improves(m.Vote, e.proposal)) && !(m.Round == c.round && m.Vote == e.proposal) {
			if m.Round == c.round { // the voter has conceded, and does not count for the proposal any more
				e.recv[i] = entry{present: !stale, state: m.State, vote: m.Vote, round: m.Round}
				e.settling = c.voters.decides(c.backed())
			}
			return
		}
		if m.Round < c.round {
			return
		}
		if m.Vote != e.proposal {
			e.settling = false
		}
	}
	changed := false
	switch {
	case m.Round > c.round:
		c.round = m.Round
		e.begins()
		if !stale && c.improves(m.Vote, e.own) {
			e.proposal = m.Vote
		}
		changed = true
	case m.Round < c.round:
		return
	case stale:
		c.newRound()
		return
	case c.improves(m.Vote, e.proposal):
		e.proposal = m.Vote
		changed = true
	}
	e.recv[i] = entry{present: true, state: m.State, vote: m.Vote, round: m.Round}
	if changed {
		c.broadcastVote() // considers this server's own vote, and so counts again
		if c.self >= 0 {
			return
		}
	}
	c.count()
}

// count checks whether a quorum votes as this server does. If all voters do, there is no better vote to wait for.
func (c *Core) count() {
	e := &c.el
	set := c.backed()
	if !c.voters.decides(set) {
		return
	}
	if set == c.voters.all() {
		c.elected(e.proposal, c.round)
		return
	}
	if !e.settling {
		e.settling, e.settle = true, 0
	}
}

// considerEstablished follows a leader that a quorum has already.
func (c *Core) considerEstablished(m *Message, i int) {
	e := &c.el
	got := entry{present: true, state: m.State, vote: m.Vote, round: m.Round}
	if m.Round == c.round {
		e.recv[i] = got
		e.recv[i].version = 0
		counted := got
		counted.version = m.Version
		if c.voters.established(backers(e.recv, &counted)) && c.leaderAlive(e.recv, m.Vote.Leader, m.Round) {
			c.elected(c.attested(e.recv, m.Vote), m.Round)
			return
		}
	}
	got.version = m.Version
	e.out[i] = got
	if c.voters.established(backers(e.out, &got)) && c.leaderAlive(e.out, m.Vote.Leader, m.Round) {
		c.round = m.Round
		c.elected(c.attested(e.out, m.Vote), m.Round)
	}
}

// attested returns the vote with the zxid that its leader states itself. Others may follow that leader without an
// election, and state their own zxid.
func (c *Core) attested(set []entry, v Vote) Vote {
	if i := c.voters.index(v.Leader); i >= 0 && v.Leader != c.cfg.ID {
		v.Zxid = set[i].vote.Zxid
	}
	return v
}

// leaderAlive reports whether the leader itself says that it leads.
func (c *Core) leaderAlive(set []entry, leader proto.ServerID, round int64) bool {
	if leader == c.cfg.ID {
		return c.round == round
	}
	i := c.voters.index(leader)
	return i >= 0 && set[i].present && set[i].state == Leading
}

// elected ends the election.
func (c *Core) elected(v Vote, round int64) {
	if v.Leader == c.cfg.ID && c.blank {
		return // others still count on the history that this server had before it lost its disk
	}
	if v.Leader == c.cfg.ID && !c.active.Votes(v.Leader) {
		return // others still count on the vote that this server had before a reconfiguration
	}
	c.vote, c.voteAt = v, round
	limit, claimed := c.cfg.Timing.InitLimit*c.cfg.Timing.TickTime, v.Zxid
	if c.el.designated >= 0 {
		limit = c.cfg.Timing.TickTime // the others follow at once, or not at all
		claimed = 0                   // the zxid of v is that of this server
	}
	electors := backers(c.el.recv, &entry{state: Looking, vote: v, round: round})
	c.el = election{}
	if v.Leader == c.cfg.ID {
		c.becomeLeading(limit, electors)
		return
	}
	c.becomeLearner(v.Leader, claimed)
}
