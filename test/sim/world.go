package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// world is what really happened, in this ensemble and in the one that foreign disks come from. The simulator keeps it
// by what it sees the servers do, so that it does not depend on what they say of their lineages. It exists only in
// runs that exchange disks.
type world struct {
	runs      int
	origin    map[string]*run // by payload: the run in which a txn was proposed
	delivered map[string]bool // by payload: a server took the txn for committed
	ensembles map[uint64]bool // identities that a leader had when it was established
}

// run is one epoch of one leader. Leaders may use a number twice where a disk that was exchanged has forgotten a
// promise.
type run struct {
	number      int
	epoch       int64
	leader      proto.ServerID
	chain       []*run       // the runs that its history went through, itself last
	base        proto.Zxid   // the last txn that it began with
	history     []zab.Txn    // what it began with, and all that its leader has proposed
	lineage     *zab.Lineage // of its leader, when it began
	established bool         // a quorum has adopted it, as its leader says
}

func newWorld() *world {
	return &world{origin: map[string]*run{}, delivered: map[string]bool{}, ensembles: map[uint64]bool{}}
}

// knowledge is what a disk says durably of one run of its history.
type knowledge struct {
	settled bool // it was established, and nothing is known of later ones
	marked  bool // the mark of the run is known
}

// contains reports whether the history of r went through o.
func (r *run) contains(o *run) bool {
	if r == nil || o == nil {
		return false
	}
	i, ok := slices.BinarySearchFunc(r.chain, o.epoch, func(a *run, e int64) int { return int(a.epoch - e) })
	return ok && r.chain[i] == o
}

// at returns the run of an epoch that the history of r went through, or nil.
func (r *run) at(epoch int64) *run {
	if r == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(r.chain, epoch, func(a *run, e int64) int { return int(a.epoch - e) })
	if !ok {
		return nil
	}
	return r.chain[i]
}

// has reports whether a history has a txn.
func has(history []zab.Txn, t zab.Txn) bool {
	h := upTo(history, t.Zxid)
	return len(h) > 0 && h[len(h)-1].Zxid == t.Zxid && string(h[len(h)-1].Payload) == string(t.Payload)
}

// adopts returns the run that a server adopts with a write of currentEpoch. A leader begins a run of its own.
func (s *Sim) adopts(n *node, p *zab.Persist) *run {
	w := s.world
	history := n.disk.asked(p)
	switch n.role {
	case zab.Leading:
		w.runs++
		r := &run{number: w.runs, epoch: p.CurrentEpoch, leader: n.id, base: lastOf(history), history: history,
			lineage: p.Lineage}
		if n.run != nil {
			r.chain = append(r.chain, n.run.chain...)
		}
		r.chain = append(r.chain, r)
		s.tracef("%d begins run %d of epoch %d behind %v", n.id, r.number, r.epoch, r.base)
		return r
	case zab.Looking: // a crash has left a history that reaches beyond currentEpoch
		return w.origin[string(history[len(history)-1].Payload)]
	}
	s.checkTold(n, n.offered, "adopts")
	return n.offered
}

// asked is the history that will be on the disk when all that was asked for is done, and p.
func (d *disk) asked(p *zab.Persist) []zab.Txn {
	h := d.history
	for i := range d.queue {
		if q := &d.queue[i]; q.p.Install != nil {
			h = q.replace
		} else if q.p.Truncate {
			h = upTo(h, q.p.Last)
		}
		h = append(h[:len(h):len(h)], d.queue[i].p.Append...)
	}
	return append(h[:len(h):len(h)], p.Append...)
}

// learn takes over what the lineage on the disk says now.
func (d *disk) learn() {
	d.known, d.committed = nil, 0
	if d.run == nil || d.lineage == nil {
		return
	}
	d.known = map[*run]knowledge{}
	settled := d.lineage.Settled
	if settled.Counter() != 0 {
		d.committed = settled
	}
	for i := range d.lineage.Reigns {
		g := &d.lineage.Reigns[i]
		if r := d.run.at(g.Epoch); r != nil && g.Mark != 0 {
			d.known[r] = knowledge{marked: true}
			if settled == proto.MakeZxid(g.Epoch, 0) {
				d.committed = g.Base // what an epoch that was established began with
			}
		}
	}
	if r := d.run.at(settled.Epoch()); r != nil {
		d.known[r] = knowledge{marked: d.known[r].marked, settled: true}
	}
}

// tells reports whether what a disk durably says of its history shows that the one of a run is another. It is the
// rule of zab.Lineage.Differs, written down a second time, for what is true and not for what the two lineages say: a
// lineage may be silent about an epoch, and then nothing can be told.
func (d *disk) tells(r *run) bool {
	if own := d.lineage; own != nil && own.Final && r.lineage.Final && own.Ensemble != r.lineage.Ensemble {
		return true
	}
	reigns := r.lineage.Reigns
	for of, k := range d.known {
		i, named := place(r.lineage, of.epoch)
		if named && !r.contains(of) && k.marked && reigns[i].Mark != 0 {
			return true // there is another epoch of that number
		}
		if named {
			i++
		}
		if i == len(reigns) {
			continue
		}
		switch next := &reigns[i]; {
		case k.settled && next.Mark != 0 && next.Base < d.committed:
			return true // the next epoch begins before what is committed
		case k.settled && !named && i > 0 && !next.Gap:
			return true // the epoch was established, and is passed over
		}
	}
	return false
}

// place returns the place of an epoch in a lineage, or the one that it would have.
func place(l *zab.Lineage, epoch int64) (i int, named bool) {
	return slices.BinarySearchFunc(l.Reigns, epoch, func(r zab.Reign, e int64) int { return int(r.Epoch - e) })
}

// silent reports whether the lineage with which a run began does not say whether its history has gone through another
// one.
func (r *run) silent(o *run) bool {
	i, named := place(r.lineage, o.epoch)
	reigns := r.lineage.Reigns
	if named {
		if i++; reigns[i-1].Mark == 0 {
			return true
		}
	}
	return i == 0 || i < len(reigns) && reigns[i].Gap
}

// lineageOf is what a server says of a disk when it starts from it.
func lineageOf(d *disk) *zab.Lineage {
	l := &zab.Lineage{}
	if d.lineage != nil {
		*l = *d.lineage
	}
	i, named := place(l, d.current)
	if named {
		i++
	}
	l.Reigns = l.Reigns[:i:i]
	if !named && d.current > 0 {
		l.Reigns = append(l.Reigns, zab.Reign{Epoch: d.current, Leader: -1, Gap: true})
	}
	if l.Settled.Epoch() > l.Epoch() {
		l.Settled = 0
	}
	return l
}

// reigns is called when a leader says that its epoch is established.
func (s *Sim) reigns(n *node) {
	r := n.run
	if r == nil || r.leader != n.id || r.epoch != n.status.Epoch {
		s.fail("Leadership", "server %d is established in epoch %d, which it has not begun", n.id, n.status.Epoch)
	}
	r.established = true
	if id := r.lineage.Ensemble; id != 0 && !s.world.ensembles[id] {
		s.world.ensembles[id] = true
		s.Stats.Ensembles++
	}
	s.checkProtected(r)
}

// joins returns the run of the leader that a server is being brought in line with, if a note says its lineage and the
// server has had its epoch before, of another leader: then no write of currentEpoch is asked for. The note is written
// behind the history.
func (n *node) joins(l *zab.Lineage) *run {
	r := n.offered
	if r == nil || r == n.disk.run || n.disk.current != r.epoch {
		return nil
	}
	i, own := place(l, r.epoch)
	j, theirs := place(r.lineage, r.epoch)
	if !own || !theirs || l.Reigns[i].Mark == 0 || l.Reigns[i].Mark != r.lineage.Reigns[j].Mark {
		return nil
	}
	n.s.checkTold(n, r, "joins")
	return r
}

// acknowledges is called when a server acknowledges NEWLEADER: what it has on the disk is the history of the leader.
// It may have had the same currentEpoch before, of another leader.
func (s *Sim) acknowledges(n *node, m *zab.Message) {
	if s.world == nil || n.offered == nil || n.disk.run == n.offered {
		return
	}
	if e := m.Zxid.Epoch(); n.disk.current != e || n.offered.epoch != e {
		return
	}
	s.checkTold(n, n.offered, "joins")
	n.run, n.disk.run = n.offered, n.offered
	n.disk.learn()
	s.checkProtected(n.run)
}
