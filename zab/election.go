package zab

import (
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// election is the state of fast leader election. Source: quorum-protocol 3.
type election struct {
	*replica
	running  bool    // false while earlier writes are not durable yet: until then this server has no vote to send
	pause    int     // ticks until an observer looks for a leader
	own      Vote    // what this server stands for
	proposal Vote    // what it votes for
	recv     []entry // by voter: votes of this round
	led      []entry // by voter: votes of servers that have a leader
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
func (r *replica) better(v, cur Vote) bool {
	if i := r.active.Quorum.Index(v.Leader); i >= 0 && !r.active.Quorum.Weighs(i) {
		return false
	}
	if v.Epoch != cur.Epoch || v.Zxid != cur.Zxid {
		return v.exceeds(cur)
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
func (e *election) backed() quorum.Set {
	return backers(e.recv, &entry{state: Looking, vote: e.proposal, round: e.round})
}

// start begins the election when the log does not change any more. It returns the notifications that have arrived
// before. Source: quorum-protocol 10.4, B7.
func (e *election) start() (waiting []Message) {
	if e.running || e.status.Stopped || e.pause > 0 {
		return nil
	}
	e.running = true
	if e.designated >= 0 && (e.designated != e.cfg.ID || e.active.Votes(e.cfg.ID) && !e.log.blank) {
		e.elected(Vote{Leader: e.designated, Zxid: e.log.stable.last, Epoch: e.log.stable.epochs.Current}, e.round)
		return nil
	}
	e.own = Vote{Leader: math.MinInt64, Zxid: math.MinInt64, Epoch: math.MinInt64}
	if e.active.Votes(e.cfg.ID) {
		e.own = e.log.stable.vote(e.cfg.ID)
	}
	if e.log.blank && e.self >= 0 {
		e.own.Zxid = -1 // so does a server that has a vote by the pending configuration only
	}
	e.round++
	e.proposal = e.own
	e.repeat(&e.cfg.Timing, concedeAfter)
	if e.log.blank {
		e.nonce = e.cfg.Rand.Uint64()
		e.probe()
		if !e.running {
			return nil // the ensemble is new, and this server has to note that first
		}
	}
	waiting, e.waiting = e.waiting, nil
	e.broadcastVote()
	return waiting
}

// tick repeats the vote, and elects the proposal when no better vote has come for a while.
func (e *election) tick() {
	if !e.running {
		return
	}
	if e.settling {
		if e.settle++; e.settle >= e.cfg.Timing.FinalizeWait {
			e.elected(e.proposal, e.round)
			return
		}
	}
	if e.resend--; e.resend > 0 {
		return
	}
	e.interval = min(2*e.interval, e.cfg.Timing.ResendMax)
	e.resend = e.interval
	if e.log.blank {
		e.probe()
	}
	if e.idle++; e.idle >= e.patience && e.self >= 0 && e.own.Zxid != -1 && !e.settling {
		e.concede()
	}
	e.broadcastVote()
}

// concedeAfter is how often a vote is repeated in vain before a server concedes. After that it is up to twice as
// often, by chance: servers that have to concede together must not do so in turns for ever.
const concedeAfter = 3

// repeat begins to repeat the vote.
func (e *election) repeat(timing *Timing, patience int) {
	e.interval = timing.ResendMin
	e.resend = e.interval
	e.idle, e.patience = 0, patience
}

// concede votes for the best server that a quorum votes for together with this server, if there is one. For a
// while it votes no more for the server of its old vote: some of that quorum know the old vote and refuse it,
// because for them that server has another history, although for this server it has not. The others that vote in vain
// as this server does concede as well, so they are counted with it. Only the server that they vote for does not. No
// server concedes to one that has less than itself: such a leader would step down as soon as it knows.
func (e *election) concede() {
	had := e.conceded
	e.idle, e.conceded = 0, 0
	best := e.proposal
	mine := e.backed().With(e.self)
	if i := e.voters.index(e.proposal.Leader); i >= 0 && i != e.self {
		mine &^= 1 << i
	}
	for i := range e.recv {
		r := &e.recv[i]
		if !r.present || r.state != Looking || r.round != e.round || r.vote == e.proposal || e.own.exceeds(r.vote) {
			continue
		}
		if e.isStranger(r.vote.Leader) || r.vote.Leader == e.cfg.ID && r.vote != e.own {
			continue
		}
		if e.voters.decides(backers(e.recv, r)|mine) && (best == e.proposal || e.better(r.vote, best)) {
			best = r.vote
		}
	}
	if i := e.voters.index(e.proposal.Leader); best != e.proposal && i >= 0 {
		e.conceded = e.conceded.With(i)
		e.proposal = best
	}
	if had|e.conceded != 0 {
		e.repeat(&e.cfg.Timing, concedeAfter+e.cfg.Rand.IntN(concedeAfter+1))
	}
}

// newRound gives up a proposal that cannot be elected, and makes the others give it up: the proposed server does
// not have, or no longer has, the history that the vote says. All begin again with their own votes.
func (e *election) newRound() {
	if e.self >= 0 {
		e.round++ // an observer takes the round of the voters
	}
	e.restart()
	e.broadcastVote()
}

// restart begins a round with the vote for this server.
func (e *election) restart() {
	clear(e.recv)
	e.settling, e.proposal = false, e.own
}

// forget drops what voter i has said: it says something else now, which does not count.
func (e *election) forget(i int) { e.recv[i], e.led[i] = entry{}, entry{} }

// notification returns the present notification of this server, which has a vote in this election.
func (e *election) notification(to proto.ServerID) Message {
	m := e.replica.notification(to)
	m.Vote, m.Round = e.proposal, e.round
	return m
}

// broadcastVote sends the proposal to all voters, this server included.
func (e *election) broadcastVote() {
	for _, id := range e.peers {
		e.send(e.notification(id))
	}
	if e.self >= 0 {
		m := e.notification(e.cfg.ID)
		m.From = e.cfg.ID
		e.consider(&m, e.self)
	}
}

// notification returns the present notification of this server.
func (c *Core) notification(to proto.ServerID) Message {
	if c.role == Looking {
		return c.el.notification(to)
	}
	return c.replica.notification(to)
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
		c.el.ignoreStranger(m)
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
		if m.State != Looking || c.role != Leading && c.ln.isDeaf(m) {
			return
		}
		// A voter that still elects this server is about to follow it.
		if m.Vote.Leader == c.cfg.ID && m.Round == c.voteAt ||
			c.role != Leading || !c.ld.deserted(i) {
			c.send(c.notification(m.From))
			return
		}
		c.turn()
	}
	c.el.hear(m, i)
}

// isDeaf leaves a leader that does not know that it was elected, and to which no connection can be made: it hears
// nothing, although its votes arrive. A server that hears the votes of others leads within the time of a message, and
// at the latest when it has repeated its own vote, because it is answered. In the next round the votes of the deaf
// server are too old to count, until it hears of that round.
func (ln *learner) isDeaf(m *Message) bool {
	if m.From != ln.leader || ln.role == Leading || m.Round != ln.voteAt || ln.stage > lnDialing ||
		ln.now-ln.since < int64(2*ln.cfg.Timing.ResendMin) {
		return false
	}
	ln.leave("leader %d was elected, and looks for a leader: it does not hear", ln.leader)
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

// hear takes a notification of voter i. Until the election begins the newest of each voter waits.
func (e *election) hear(m *Message, i int) {
	if !e.running {
		if w := slices.IndexFunc(e.waiting, func(w Message) bool { return w.From == m.From }); w >= 0 {
			e.waiting[w] = *m
		} else {
			e.waiting = append(e.waiting, *m)
		}
		return
	}
	// A server without a vote is always answered, and would be answered again.
	if m.State == Looking && m.Round < e.round && e.self >= 0 {
		e.send(e.notification(m.From))
	}
	e.consider(m, i)
}

// consider is one turn of the election loop with the notification of voter i. Source: quorum-protocol 3.6.
func (e *election) consider(m *Message, i int) {
	votes := e.voters.votes(m.Vote.Leader)
	if !votes || e.isStranger(m.Vote.Leader) { // the sender may follow such a leader, this server must not
		e.forget(i)
		if votes || e.cfg.Roster != nil {
			e.joinRound(m)
		}
		return
	}
	switch m.State {
	case Looking:
		e.considerLooking(m, i)
	case Following, Leading:
		e.considerEstablished(m, i)
	}
}

// joinRound takes the round of a voter whose vote does not count here, because such a voter does not count votes
// of earlier rounds. The voter votes for no server if it has a vote by the pending configuration only, or it
// votes for a stranger.
func (e *election) joinRound(m *Message) {
	if m.State != Looking || m.Round <= e.round {
		return
	}
	e.round = m.Round
	e.restart()
	e.broadcastVote()
}

// improves reports whether this server should change its vote from cur to that of a notification, which is not stale.
func (e *election) improves(v, cur Vote) bool {
	return e.better(v, cur) && !e.conceded.Has(e.voters.index(v.Leader))
}

func (e *election) considerLooking(m *Message, i int) {
	if e.own.Zxid == -1 || m.Vote.Zxid == -1 {
		return // one of the two may have lost its disk
	}
	if e.self >= 0 && i != e.self && m.Round == e.round && m.Vote != e.proposal && e.better(e.proposal, m.Vote) {
		// The sender may have begun to look after this server had sent its vote. Java lets it wait for the
		// repetition.
		e.send(e.notification(m.From))
	}
	// A vote for this server with a history that it no longer has comes from before a restart. It must not be
	// repeated.
	stale := m.Vote.Leader == e.cfg.ID && m.Vote != e.own
	if e.settling && i != e.self {
		if (stale || !e.improves(m.Vote, e.proposal)) && !(m.Round == e.round && m.Vote == e.proposal) {
			if m.Round == e.round { // the voter has conceded, and does not count for the proposal any more
				e.recv[i] = entry{present: !stale, state: m.State, vote: m.Vote, round: m.Round}
				e.settling = e.voters.decides(e.backed())
			}
			return
		}
		if m.Round < e.round {
			return
		}
		if m.Vote != e.proposal {
			e.settling = false
		}
	}
	changed := false
	switch {
	case m.Round > e.round:
		e.round = m.Round
		e.restart()
		if !stale && e.improves(m.Vote, e.own) {
			e.proposal = m.Vote
		}
		changed = true
	case m.Round < e.round:
		return
	case stale:
		e.newRound()
		return
	case e.improves(m.Vote, e.proposal):
		e.proposal = m.Vote
		changed = true
	}
	e.recv[i] = entry{present: true, state: m.State, vote: m.Vote, round: m.Round}
	if changed {
		e.broadcastVote() // considers this server's own vote, and so counts again
		if e.self >= 0 {
			return
		}
	}
	e.count()
}

// count checks whether a quorum votes as this server does. If all voters do, there is no better vote to wait for.
func (e *election) count() {
	set := e.backed()
	if !e.voters.decides(set) {
		return
	}
	if set == e.voters.all() {
		e.elected(e.proposal, e.round)
		return
	}
	if !e.settling {
		e.settling, e.settle = true, 0
	}
}

// considerEstablished follows a leader that a quorum has already.
func (e *election) considerEstablished(m *Message, i int) {
	got := entry{present: true, state: m.State, vote: m.Vote, round: m.Round}
	if m.Round == e.round {
		e.recv[i] = got
		e.recv[i].version = 0
		counted := got
		counted.version = m.Version
		if e.voters.established(backers(e.recv, &counted)) && e.leaderAlive(e.recv, m.Vote.Leader, m.Round) {
			e.elected(e.attested(e.recv, m.Vote), m.Round)
			return
		}
	}
	got.version = m.Version
	e.led[i] = got
	if e.voters.established(backers(e.led, &got)) && e.leaderAlive(e.led, m.Vote.Leader, m.Round) {
		e.round = m.Round
		e.elected(e.attested(e.led, m.Vote), m.Round)
	}
}

// attested returns the vote with the zxid that its leader states itself. Others may follow that leader without an
// election, and state their own zxid.
func (e *election) attested(set []entry, v Vote) Vote {
	if i := e.voters.index(v.Leader); i >= 0 && v.Leader != e.cfg.ID {
		v.Zxid = set[i].vote.Zxid
	}
	return v
}

// leaderAlive reports whether the leader itself says that it leads.
func (e *election) leaderAlive(set []entry, leader proto.ServerID, round int64) bool {
	if leader == e.cfg.ID {
		return e.round == round
	}
	i := e.voters.index(leader)
	return i >= 0 && set[i].present && set[i].state == Leading
}

// elected ends the election.
func (e *election) elected(v Vote, round int64) {
	if v.Leader == e.cfg.ID && e.log.blank {
		return // others still count on the history that this server had before it lost its disk
	}
	if v.Leader == e.cfg.ID && !e.active.Votes(v.Leader) {
		return // others still count on the vote that this server had before a reconfiguration
	}
	e.vote, e.voteAt = v, round
	t := &transition{to: Following, leader: v.Leader, claimed: v.Zxid}
	if v.Leader == e.cfg.ID {
		t.to, t.limit = Leading, e.cfg.Timing.InitLimit*e.cfg.Timing.TickTime
		t.electors = backers(e.recv, &entry{state: Looking, vote: v, round: round})
	}
	if e.designated >= 0 {
		t.limit = e.cfg.Timing.TickTime // the others follow at once, or not at all
		t.claimed = 0                   // the zxid of v is that of this server
	}
	e.change = t
	*e = election{replica: e.replica}
}
