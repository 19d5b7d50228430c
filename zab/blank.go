package zab

// A server that finds no database at its start may be new, or may have lost its disk; then it has forgotten what it promised and what it
// acknowledged. It is blank: nothing that it says counts. The host marks that on the disk before anything else makes a database exist
// (Config.Blank), so that the server is as blank when it was killed while it synchronised and has a database and epochs again.
//
// The invariant. As long as the mark is on the disk,
//
//   - it votes for nothing (zxid -1) and ignores the votes of others: it follows whom a quorum of the others lead or follow already;
//   - its ACKEPOCH has epoch -1, which no leader counts, and FOLLOWERINFO says that it is blank, for which a Warren leader counts neither its
//     acceptedEpoch nor its ACKs, of NEWLEADER or of proposals, and takes back what it had counted for an earlier life (leader.forget);
//   - it leads nobody.
//
// The mark goes when UPTODATE has arrived (or when the ensemble is known to be new, below). Until its end is durable no election begins here,
// and stable says nothing that counts: votes, ACKEPOCH and FOLLOWERINFO take from there whether the server is blank. Then it
// leaves its leader and comes back as any other voter.
//
// Why UPTODATE, and not before. NEWLEADER may come from a leader that nobody has confirmed, of an epoch older than one that was promised
// before the loss; to acknowledge it could complete a quorum of that epoch beside the one that was promised. UPTODATE comes from a leader
// whose epoch e was established by a quorum to which this life of the server does not belong, and which has made sure after the loss, by a
// round of pings, that a quorum without this server still follows it (admit).
//
// Why it is safe then. What it had acknowledged in epochs up to e and what was committed with it is in its history again: any quorum that
// could establish e without it meets the one that committed. What it had acknowledged in a later epoch p needed a
// quorum that has a server in common with the others who follow e after the loss; such a server cannot have adopted p, so nothing
// of p was committed. There remains the promise of a later epoch p that is lost, and may still count for a leader of p that was stopped
// before the loss, goes on after it, and has not noticed that the connection is at its end.
//
// Therefore a promise counts only when it was confirmed. Once a quorum has promised, the leader sends LEADERINFO on the same connections again, and decides on the
// history with a quorum of those who answer (confirmed); who has promised since makes it ask all of them anew. So whoever of that quorum Q loses its disk
// loses it after all of Q have promised p. Let x be the first of them that is admitted by a leader of an epoch below p. That leader had
// answers, after the loss, of a quorum without x. It has a server in common with Q, which had promised p by then and, x being the first,
// had not forgotten it; and who has promised p follows nobody below it. So there is no such x: from the decision on nobody is admitted below p, and
// what was committed below p was committed by quorums of which some server told the leader of p in its promise.
//
// A leader in Java does not know blank servers. It asks nobody whether he follows; what there is instead is that a blank server follows only
// whom a quorum of the others say that they lead or follow. It does not count ACKEPOCH -1, but it counts the ACK of NEWLEADER, without which it
// sends no UPTODATE (R16 c). So in a mixed ensemble a server in Java should not have to lead while a blank server joins.
//
// An ensemble is new if nobody has anything: then there is nothing to lose, and nobody else who could lead. That is established by
// asking every other voter, with a number drawn in this run, so that no answer can be older than the question; a server that has
// itself received anything, or promised an epoch, is in no new one. Source: quorum-protocol 14.3 R16.

// probe asks every other voter what it has.
func (c *Core) probe() {
	if c.self < 0 {
		return
	}
	for _, id := range c.peers {
		c.send(Message{Type: Probe, To: id, Nonce: c.el.nonce})
	}
	c.countEmpty()
}

// probed answers a question, or counts an answer.
func (c *Core) probed(m *Message) {
	i := c.voters.index(m.From)
	if i < 0 {
		return
	}
	if m.Type == Probe {
		c.send(Message{Type: ProbeReply, To: m.From, Nonce: m.Nonce, Zxid: c.last, Epoch: c.epochs.Accepted})
		return
	}
	if c.role != Looking || !c.el.running || !c.blank || c.self < 0 || m.Nonce != c.el.nonce {
		return
	}
	if m.Zxid <= 0 && m.Epoch == 0 {
		c.el.empty = c.el.empty.with(i)
		c.countEmpty()
	}
}

// countEmpty makes this server a member of a new ensemble if nobody has anything, itself included.
func (c *Core) countEmpty() {
	if c.el.empty.with(c.self) != c.voters.all() || !c.blank || c.last != 0 || c.epochs.Accepted != 0 {
		return
	}
	c.initialize()
	c.becomeLooking("the ensemble is new")
}

// admit lets a learner serve that has acknowledged NEWLEADER. A blank one counts when it hears that, so a quorum, to which it does not belong, has
// to show that it still follows, as for a sync.
func (c *Core) admit(l *link) {
	if !l.blank {
		c.upToDateTo(l)
		return
	}
	c.syncs++
	c.ld.syncs = append(c.ld.syncs, syncRequest{number: c.syncs, link: l.id, admits: true})
}

// confirmed returns the voters that remember a promise of the epoch: they have given it again when all of them had given it. One that was
// counted since makes the leader ask them all anew. A server in Java, or of an older build, cannot be asked
// again: its promise counts as it is.
func (c *Core) confirmed() voterSet {
	s := voterSet(0).with(c.self)
	for _, l := range c.links {
		if l.voter < 0 || l.stage != linkPromised || !c.ld.electing.has(l.voter) {
			continue
		}
		if l.repeats && l.round < c.ld.round {
			l.round = c.ld.round
			l.asks++
			c.invite(l, c.ld.epoch)
		}
		if !l.repeats || l.confirms == l.asks {
			s = s.with(l.voter)
		}
	}
	return s
}

// recall takes back what was counted for a voter that comes again and has forgotten it. If he has not, this server gives up: nobody promises an
// epoch twice, and what was promised on a connection that is gone cannot be confirmed. It reports whether this server still leads.
func (c *Core) recall(l *link, voter int) bool {
	ld := &c.ld
	hasPromised := ld.stage == leaderPromising && ld.electing.has(voter)
	hasCounted := hasPromised || ld.stage == leaderSyncing && (ld.electing|ld.synced).has(voter)
	switch {
	case l.blank, l.parted, hasCounted && l.accepted < ld.epoch:
		ld.forget(voter)
	case hasPromised && l.repeats:
		c.stepDown("server %d has come again before its promise of epoch %d was confirmed", l.peer, ld.epoch)
		return false
	}
	return true
}

// initialize asks for the database to be remembered as existing and this server as one that counts. It counts when that is durable: until
// then there is no election for it (Core.drained), and what it says comes from stable.
func (c *Core) initialize() {
	c.blank = false
	job := c.writes.job(rankEpochs)
	job.Initialize = true
	c.flying(job)
}
