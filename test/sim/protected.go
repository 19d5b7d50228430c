package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// protection is an acknowledged write that a quorum of the voters' disks holds.
type protection struct {
	txn   zab.Txn
	run   *run
	ended bool
}

// Protected writes: an acknowledged write is protected as long as a quorum of the voters' disks holds it after each
// exchange. Nothing but the exchange of disks may end that: every history that a quorum adopts has the write.
//
// A blank server is not counted, because it counts for nothing.
func (s *Sim) protect(n *node, t zab.Txn) {
	holders := s.counted(func(o *node) bool { return o.holds(t) })
	if s.quorum.Decides(holders...) {
		s.protected = append(s.protected, &protection{txn: t, run: n.run})
		s.Stats.Protected++
		return
	}
	// Commit safety: a server may have acknowledged the write before its disk was exchanged.
	for _, o := range s.nodes {
		if slices.ContainsFunc(o.lost.history, func(h []zab.Txn) bool { return has(h, t) }) {
			holders = append(holders, o.id)
		}
	}
	if !s.quorum.Decides(holders...) {
		s.fail("CommitSafety", "server %d acknowledges %v, but only %v have it, or had it on an exchanged disk", n.id,
			t.Zxid, holders)
	}
	s.Stats.Unprotected++
}

// holds reports whether the disk of a server has a txn, and the server counts.
func (n *node) holds(t zab.Txn) bool { return !n.disk.blank && n.disk.exists && has(n.disk.history, t) }

// unprotect ends the protection of the writes that an exchange has taken from the last quorum.
func (s *Sim) unprotect() {
	for _, p := range s.protected {
		if !p.ended && !s.quorum.Decides(s.counted(func(o *node) bool { return o.holds(p.txn) })...) {
			p.ended = true
			s.Stats.Unprotected++
		}
	}
}

// checkProtected is called when a run may have become the history of a quorum: when its leader is established, and
// whenever a server has adopted it.
//
// A leader that is established by promises or acknowledgements of disks which were exchanged since is not looked at:
// it can commit nothing before a quorum has adopted its run. Nor is a leader that is established late, when a later
// leader, which has its history, has acknowledged the write: the quorum of the later leader does not follow it any
// more.
//
// A crash between the history and the epoch of NEWLEADER leaves a history of the run in which it was proposed. What
// could be told then is what the lineage of the leader told that has sent it.
func (s *Sim) checkProtected(r *run) {
	if s.world == nil || r == nil || !r.established {
		return
	}
	adopted := s.counted(func(o *node) bool { return !o.disk.blank && o.disk.run.contains(r) })
	if !s.quorum.Decides(adopted...) {
		return
	}
	by := r
	for _, o := range s.nodes {
		if from := o.disk.brought; from != nil && !o.disk.blank && o.disk.run.contains(r) &&
			!s.quorum.Decides(slices.DeleteFunc(slices.Clone(adopted), func(id proto.ServerID) bool {
				return id == o.id
			})...) {
			by = from // the history came with the lineage of that run
		}
	}
	for _, p := range s.protected {
		if !p.ended && !p.run.contains(r) && !has(r.history, p.txn) {
			s.exempt(by, p)
		}
	}
}

// exempt ends the protection of a write that is not in the history of a quorum, if no quorum of the voters could tell
// that it has to be, and fails otherwise.
//
// Such a leader has adopted an epoch that comes after that of the write, on a disk that was exchanged, or by the
// promises of voters which have forgotten them with their disks. So its vote counts for more than what the others
// have, and only the lineages can tell that its history is another. They cannot if
//
//   - the lineage of the leader is silent about the epoch of the write, because meta.db was lost on the way, or
//   - no quorum of the voters knows durably, by Lineage.Settled, that the epoch of the write was established. That is
//     noted some time after it was, and is lost if the servers crash before, or with meta.db.
//
// Servers that cannot tell follow the leader with the latest epoch, as they must after any crash. If they are a
// quorum, or leave none to the others, nothing keeps the write. There is no exemption for a leader that was in the
// epoch of the write and left it before: to acknowledge the write a quorum must have gone on in that epoch, and a
// server which has left an epoch comes back to it only if a quorum of the others is still there; so the promises that
// let a leader leave are not forgotten by enough of them.
func (s *Sim) exempt(r *run, p *protection) {
	tellers := s.counted(func(o *node) bool { return !o.disk.blank && o.disk.tells(r) })
	silent := r.silent(p.run)
	if s.quorum.Decides(tellers...) || r.contains(p.run) && !silent {
		s.fail("Protected", "a quorum has adopted run %d of epoch %d, led by %d, which begins behind %v and does not "+
			"have %v %x of run %d; %v could tell", r.number, r.epoch, r.leader, r.base, p.txn.Zxid, p.txn.Payload,
			p.run.number, tellers)
	}
	p.ended = true
	if silent {
		s.Stats.Silent++
	} else {
		s.Stats.Unknown++
	}
}

// checkProtectedSync: reads after the answer to a sync show every protected write that was acknowledged before the
// call. The newest ones are enough, because the others come before them.
func (s *Sim) checkProtectedSync(n *node, call syncCall) {
	for i, k := call.protected-1, 0; i >= 0 && k < 50; i, k = i-1, k+1 {
		if p := s.protected[i]; !p.ended && !has(n.state, p.txn) {
			s.fail("LinearizableSync", "server %d has no %v %x after a sync, but it was acknowledged before it", n.id,
				p.txn.Zxid, p.txn.Payload)
		}
	}
}
