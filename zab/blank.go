package zab

import "github.com/seed94657493/warren/zab/quorum"

// A server that finds no database at its start may be new, or may have lost its disk. A server that lost its disk
// has forgotten what it promised and what it acknowledged. Such a server is blank: nothing that it says counts.
// The host writes a mark to the disk before anything else makes a database exist (Config.Blank). So the server
// stays blank if it is killed during synchronization and then has a database and epochs again.
//
// The invariant. As long as the mark is on the disk,
//
//   - the server votes for no server (zxid -1) and ignores the votes of others. It follows only a leader that a
//     quorum of the others already lead or follow;
//   - its ACKEPOCH has epoch -1, which no leader counts, and its FOLLOWERINFO says that it is blank. For a blank
//     server a Warren leader counts neither acceptedEpoch nor ACKs (of NEWLEADER or of proposals), and takes back
//     what it had counted before the loss (leader.forget);
//   - the server does not lead.
//
// The mark is removed when UPTODATE has arrived, or when the ensemble is known to be new (below). Until the
// removal is durable no election begins on this server, and stable says nothing that counts: votes, ACKEPOCH and
// FOLLOWERINFO read from stable whether the server is blank. After the removal the server leaves its leader and
// comes back as any other voter.
//
// Why UPTODATE, and not before. NEWLEADER may come from a leader that no quorum has confirmed, of an epoch older
// than one that this server promised before the loss. An ACK of that NEWLEADER could complete a quorum of the
// older epoch beside the quorum of the promised one. UPTODATE comes from a leader whose epoch e was established
// by a quorum that does not include this server since the loss. That leader has also made sure after the loss, by
// a round of pings, that a quorum without this server still follows it (admit).
//
// Why it is safe then. Everything that this server had acknowledged in epochs up to e, and that was committed, is
// in its history again: any quorum that could establish e without this server intersects the quorum that
// committed. What this server had acknowledged in a later epoch p needed a quorum that has a server in common
// with those that follow e after the loss. Such a server cannot have adopted p, so nothing of p was committed.
// One danger remains: the lost promise of a later epoch p may still count for a leader of p that was stopped
// before the loss, goes on after it, and has not noticed that the connection is closed.
//
// Therefore a promise counts only when it was confirmed. Once a quorum has promised, the leader sends LEADERINFO
// on the same connections again, and decides on the history with a quorum of the voters that answer (confirmed).
// A promise that arrives in the meantime makes the leader ask all voters anew. So a voter of that quorum Q that
// loses its disk loses it after all of Q have promised p.
//
// Proof. Let x be the first server of Q that a leader of an epoch below p admits. That leader had answers, after
// the loss, of a quorum without x. This quorum has a server in common with Q. That server had promised p by then
// and, x being the first, had not forgotten the promise; and a server that has promised p follows no leader of an
// epoch below p. So there is no such x: from the decision on no server is admitted below p. What was committed
// below p was committed by quorums of which some server told the leader of p in its promise.
//
// A Java leader does not know blank servers. It does not make sure that its followers still follow; instead, a
// blank server follows only a leader that a quorum of the others lead or follow. A Java leader does not count
// ACKEPOCH -1, but it counts the ACK of NEWLEADER, without which it sends no UPTODATE (R16 c). So in a mixed
// ensemble a Java server should not have to lead while a blank server joins.
//
// An ensemble is new if no voter has any data: then there is nothing to lose, and no other server that could
// lead. To establish that, a server asks every other voter, with a number drawn in this run, so that no answer
// can be older than the question. A server that has itself received anything, or promised an epoch, is not in a
// new ensemble. Neither is a server that knows a configuration with a version: a leader has served under it, and the
// voters of now may be others than those that have its history. Then the disks of all voters are lost, and only an
// operator can say which copy of the history counts. Source: quorum-protocol 14.3 R16.

// probe asks every other voter what it has.
func (e *election) probe() {
	if e.self < 0 {
		return
	}
	for _, id := range e.peers {
		e.send(Message{Type: Probe, To: id, Nonce: e.nonce})
	}
	e.countEmpty()
}

// probed answers a PROBE, or counts the answer to one.
func (e *election) probed(m *Message) {
	i := e.voters.index(m.From)
	if i < 0 {
		return
	}
	if m.Type == Probe {
		e.send(Message{Type: ProbeReply, To: m.From, Nonce: m.Nonce, Zxid: e.log.last, Epoch: e.log.epochs.Accepted})
		return
	}
	if e.role != Looking || !e.running || !e.log.blank || e.self < 0 || m.Nonce != e.nonce {
		return
	}
	if m.Zxid <= 0 && m.Epoch == 0 {
		e.empty = e.empty.With(i)
		e.countEmpty()
	}
}

// countEmpty makes this server a member of a new ensemble if no voter has any data, this server included.
func (e *election) countEmpty() {
	if e.cfg.Roster != nil && e.active.Version != 0 {
		return
	}
	if e.empty.With(e.self) != e.voters.all() || !e.log.blank || e.log.last != 0 || e.log.epochs.Accepted != 0 {
		return
	}
	e.log.initialize()
	e.running = false
	e.look(-1, "the ensemble is new")
}

// admit lets a learner that has acknowledged NEWLEADER serve. A blank learner counts from UPTODATE on. So for a
// blank learner a quorum that does not include it has to show first that it still follows, as for a sync.
func (ld *leader) admit(l *link) {
	if !l.blank {
		ld.upToDateTo(l)
		return
	}
	ld.addSync(syncRequest{link: l.id, admits: true})
}

// confirmed returns the voters that remember their promise of the epoch: voters that promised it again after a
// quorum had promised it. If a further promise was counted since, the leader asks all of them anew. A Java
// server, or an older build, cannot be asked again: its promise counts as it is.
func (ld *leader) confirmed() quorum.Set {
	s := quorum.Set(0).With(ld.self)
	for _, l := range ld.links {
		if l.voter < 0 || l.stage != linkPromised || !ld.electing.Has(l.voter) {
			continue
		}
		if l.repeats && l.round < ld.promises {
			l.round = ld.promises
			l.asks++
			ld.invite(l, ld.epoch)
		}
		if !l.repeats || l.confirms == l.asks {
			s = s.With(l.voter)
		}
	}
	return s
}

// recall takes back what was counted for a voter that reconnects and has forgotten it. A voter that has not
// forgotten it makes this server give up, if its promise was not confirmed: no voter promises an epoch twice, and a
// promise given on a closed connection cannot be confirmed. recall reports whether this server still leads.
func (ld *leader) recall(l *link, voter int) bool {
	hasPromised := ld.stage == leaderPromising && ld.electing.Has(voter)
	hasCounted := hasPromised || ld.stage == leaderSyncing && (ld.electing|ld.synced).Has(voter)
	switch {
	case l.blank, l.parted, hasCounted && l.accepted < ld.epoch:
		ld.forget(voter)
	case hasPromised && l.repeats:
		ld.stepDown("server %d has come again before its promise of epoch %d was confirmed", l.peer, ld.epoch)
		return false
	}
	return true
}
