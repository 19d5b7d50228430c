package sim

import (
	"slices"

	"github.com/seed94657493/warren/zab"
)

// Disks are exchanged while the ensemble changes, too. There is one history then, and the checkers that compare with
// it judge, so a disk is replaced only when nothing can be lost by that: every other server, also those that are no
// members, has durably all that this server has ever written, and no voter is a quorum by itself. Then whatever the
// server has forgotten, no quorum has.

// startRestores begins to take backups and to replace disks by them.
func (x *exchanges) startRestores(s *Sim) {
	x.again(s, x.every/3, func() { x.backup(s) })
	x.again(s, x.every, func() {
		long := x.between(5000, 20_000)
		s.calm(long)
		x.tryRestore(s, s.now+long)
	})
}

// tryRestore waits for a moment in which a disk can be replaced.
func (x *exchanges) tryRestore(s *Sim, until int64) {
	s.after(x.between(50, 500), func() {
		if s.faults.healed || s.now > until {
			return
		}
		if n := pick(x, s.nodes); !s.knownElsewhere(n) || !x.restore(s, n) {
			x.tryRestore(s, until)
		}
	})
}

// knownElsewhere reports whether every other server has durably all that one has.
func (s *Sim) knownElsewhere(n *node) bool {
	d := &n.disk
	for _, o := range s.nodes {
		if !o.disk.exists || o.disk.blank || o.lost.memory || o.disk.busy || len(o.disk.queue) > 0 ||
			o.disk.accepted < d.accepted || o.disk.current < d.current || !o.disk.remembers(d.lineage) {
			return false
		}
		h := upTo(o.disk.history, lastOf(d.history))
		if !slices.EqualFunc(h, d.history, func(a, b zab.Txn) bool {
			return a.Zxid == b.Zxid && string(a.Payload) == string(b.Payload)
		}) {
			return false
		}
	}
	return true
}

// remembers reports whether a disk has the identity that another lineage has, if only for the next leader. Servers
// that forget it one after the other are what no server can tell: guarantees, "What cannot be told".
func (d *disk) remembers(l *zab.Lineage) bool {
	return l == nil || l.Ensemble == 0 || d.lineage != nil && d.lineage.Ensemble == l.Ensemble
}

// restore replaces the disk of a server, and starts it some time later. It reports whether it could.
func (x *exchanges) restore(s *Sim, n *node) bool {
	now := make([]image, len(s.nodes))
	for i, o := range s.nodes {
		now[i] = o.image()
	}
	kind, i := x.draw(n, now)
	if kind == exchangeLost || i.memory || i.blank {
		return false // lost disks have a rule of their own
	}
	what := exchangeNames[kind]
	if x.metaLost && x.chance(3) {
		i = i.withoutMeta(x.chance(2))
		i.ensemble = nil
		s.Stats.MetaLost++
		what += ", without meta.db"
	}
	s.tracef("the disk of %d is replaced %s (server %d): epochs %d/%d last %v, lineage %v", n.id, what, i.of,
		i.accepted, i.current, lastOf(i.history), i.lineage)
	n.crash()
	n.replace(i)
	n.promised, n.promisedTo = 0, 0 // all others have accepted that epoch
	if i.ensemble == nil {
		n.file = s.given(n)
	}
	s.Stats.Exchanges[kind]++
	s.Stats.Exchanged++
	s.faults.later(s, x.between(10, 20_000), n.start)
	return true
}
