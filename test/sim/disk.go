package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// disk is what survives a crash, and what is on its way there.
type disk struct {
	n *node
	contents

	queue  []write
	noted  *write // a lineage that waits
	busy   bool
	full   bool  // nothing can be written
	slowBy int64 // time units more for each write
}

// contents is what is on a disk. history holds every txn of the database in order; the first snapLen of them are also
// in a snapshot, and those before logFrom are only there, because the log was purged.
type contents struct {
	history  []zab.Txn
	snapLen  int
	logFrom  int
	accepted int64
	current  int64
	exists   bool          // the database was initialised
	blank    bool          // the mark of a server that does not count
	lineage  *zab.Lineage  // nil is an empty one
	ensemble *zab.Ensemble // the committed configuration; nil is the first one

	// What the simulator knows of it if disks are exchanged: see world.
	run       *run               // that was adopted last
	known     map[*run]knowledge // what lineage says of the runs
	committed proto.Zxid         // and of what is committed
	brought   *run               // whose leader sent the history, if a crash came before the epoch was adopted
}

// write is a Persist with what is needed to do it.
type write struct {
	p       zab.Persist
	life    int
	note    bool      // of a lineage alone, which is not reported
	replace []zab.Txn // the history that Install leads to
	run     *run      // that is adopted with CurrentEpoch, or joined with a note
	looking bool      // and that a crash has left
	brought *run      // whose leader has sent the history of Install
}

// Locate fulfils zab.History.
func (d *disk) Locate(z proto.Zxid) (at, next proto.Zxid, ok bool) {
	i := len(upTo(d.history, z))
	if i < len(d.history) {
		next = d.history[i].Zxid
	}
	switch {
	case i > d.logFrom:
		return d.history[i-1].Zxid, next, true
	case i == 0 && d.logFrom == 0:
		return 0, next, true
	}
	return 0, 0, false
}

// Sums fulfils zab.History.
func (d *disk) Sums(z proto.Zxid) (sums zab.Sums, ok bool) {
	h := upTo(d.history, z)
	if len(h) == 0 || len(h) <= d.logFrom || lastOf(h) != z {
		return zab.Sums{}, false
	}
	payload := h[len(h)-1].Payload
	return zab.SumsOf(payload, len(payload)), true
}

// note keeps a lineage some time after the writes that were asked for before it, unless a crash comes first. Where
// disks are exchanged it waits for others that come behind it, too.
func (d *disk) note(l *zab.Lineage, n *node) {
	w := write{p: zab.Persist{AcceptedEpoch: -1, CurrentEpoch: -1, Lineage: l}, life: n.life, note: true}
	if s := d.n.s; s.world != nil {
		w.run = n.joins(l)
		d.noted = &w
		s.after(s.exchanges.between(0, 5000), func() {
			if n.up && n.life == w.life && d.noted == &w {
				d.noted = nil
				d.queue = append(d.queue, w)
				d.next()
			}
		})
		return
	}
	d.queue = append(d.queue, w)
	d.next()
}

// write queues a write. Memory follows at once where the core says so.
func (d *disk) write(p zab.Persist, n *node) {
	w := write{p: p, life: n.life}
	w.p.Append = slices.Clone(p.Append)
	if p.Truncate && lastOf(n.state) > p.Last {
		n.state = upTo(n.state, p.Last)
		n.verified = min(n.verified, len(n.state))
	}
	if p.Install != nil {
		e := n.end(p.Install.Link)
		if e == nil || !e.hasLoaded {
			d.n.s.fail("Install", "server %d is to install a snapshot from link %d, which has brought none",
				n.id, p.Install.Link)
		}
		replace := e.loaded[:len(e.loaded):len(e.loaded)]
		for _, t := range p.Install.Txns {
			if t.Zxid > lastOf(replace) {
				replace = append(replace, t)
			}
		}
		if lastOf(replace) != p.Install.Last {
			d.n.s.fail("Install", "server %d: the snapshot and its txns end at %v, not at %v", n.id,
				lastOf(replace), p.Install.Last)
		}
		w.replace, w.brought = replace, n.offered
		n.state, n.verified = replace[:len(replace):len(replace)], 0
	}
	d.n.s.checkDecided(n, &p)
	if s := d.n.s; s.world != nil {
		s.checkRemoves(n, &w)
		if p.CurrentEpoch >= 0 {
			w.run, w.looking = s.adopts(n, &w.p), n.role == zab.Looking
			n.run = w.run
			d.noted = nil // it was of an earlier epoch
		}
	}
	d.queue = append(d.queue, w)
	d.next()
}

// next begins the oldest write.
func (d *disk) next() {
	if d.busy || len(d.queue) == 0 || d.full {
		return
	}
	d.busy = true
	d.n.s.exchanges.remember(d)
	s, life := d.n.s, d.n.life
	long := s.between(20, 200) + d.slowBy
	s.moments.begins(s, d, long)
	s.after(long, func() {
		if !d.n.up || d.n.life != life {
			return
		}
		d.busy = false
		// One fsync covers all appends that have queued up meanwhile.
		seq, note := d.queue[0].p.Seq, d.queue[0].note
		d.do(&d.queue[0], steps)
		d.queue = d.queue[1:]
		for !note && len(d.queue) > 0 && onlyAppends(&d.queue[0].p) {
			seq = d.queue[0].p.Seq
			d.do(&d.queue[0], steps)
			d.queue = d.queue[1:]
		}
		d.check()
		d.n.checkKept()
		if !note {
			d.n.core.Persisted(seq)
		}
		d.next()
		d.n.drain()
	})
}

func onlyAppends(p *zab.Persist) bool {
	return p.Interim == nil && !p.Truncate && p.Install == nil && p.Lineage == nil && p.AcceptedEpoch < 0 &&
		p.CurrentEpoch < 0 && !p.Initialize && p.Ensemble == nil
}

// steps is the number of parts of a write that have an fsync of their own.
const steps = 7

// do makes the first k parts of a write durable; of the next one, a crash may keep some.
func (d *disk) do(w *write, k int) {
	s := d.n.s
	partial := func(n int) int {
		if k >= steps {
			return n
		}
		return s.rng.IntN(n + 1)
	}
	for part := 0; part <= k && part < steps; part++ {
		whole := part < k
		switch part {
		case 0:
			if w.p.Interim != nil && (whole || s.chance(2)) {
				d.lineage = w.p.Interim
				d.learn()
			}
		case 1:
			if w.p.Truncate {
				keep := len(upTo(d.history, w.p.Last))
				if keep < d.snapLen && s.world == nil {
					s.fail("Snapshots", "server %d truncates to %v below its snapshot of %d txns", d.n.id,
						w.p.Last, d.snapLen)
				}
				d.snapLen = min(d.snapLen, keep) // an older one
				if !whole {
					keep += s.rng.IntN(len(d.history) - keep + 1)
				}
				d.history = d.history[:keep:keep] // parts of it are still read elsewhere
			}
		case 2:
			if w.p.Install != nil && (whole || s.chance(2)) {
				d.history = w.replace[:len(w.replace):len(w.replace)]
				d.snapLen, d.logFrom, d.brought = len(w.replace), len(w.replace), w.brought
				d.exists = true
			}
		case 3:
			txns := w.p.Append
			if !whole {
				txns = txns[:partial(len(txns))]
			}
			d.history = append(d.history, txns...)
		case 4:
			if w.p.AcceptedEpoch >= 0 && (whole || s.chance(2)) {
				d.accepted = w.p.AcceptedEpoch
			}
		case 5:
			if w.p.CurrentEpoch >= 0 && (whole || s.chance(2)) {
				d.exists = true // before the epoch: see recover
				if whole || s.chance(2) {
					s.checkAdopted(d.n, w.p.CurrentEpoch)
					d.current, d.lineage, d.run = w.p.CurrentEpoch, w.p.Lineage, w.run
					if !w.looking {
						d.brought = nil
					}
					d.learn()
					s.checkProtected(d.run)
				}
			}
			if w.note && (whole || s.chance(2)) {
				d.lineage = w.p.Lineage
				if w.run != nil {
					d.run = w.run
				}
				d.learn()
			}
			if w.p.Initialize && (whole || s.chance(2)) {
				d.exists = true
				if whole || s.chance(2) {
					d.blank = false
					d.n.refounded()
				}
			}
		case 6:
			if e := w.p.Ensemble; e != nil && (whole || s.chance(2)) {
				if d.ensemble != nil && d.ensemble.Version >= e.Version {
					s.fail("Configurations", "server %d writes configuration %v over %v", d.n.id, e.Version,
						d.ensemble.Version)
				}
				d.ensemble = e
			}
		}
	}
}

// crash keeps any prefix of the write in progress: the oldest one, with the appends behind it that go to the disk
// together with it. What is behind those was not begun. That a recovered log is a prefix, whichever of its blocks are
// lost, is for the tests of wal and server to show.
func (d *disk) crash() {
	asked := d.queue
	if d.busy && len(d.queue) > 0 {
		for len(d.queue) > 1 && onlyAppends(&d.queue[0].p) && onlyAppends(&d.queue[1].p) && d.n.s.chance(2) {
			d.do(&d.queue[0], steps)
			d.queue = d.queue[1:]
		}
		d.do(&d.queue[0], d.n.s.rng.IntN(steps))
	}
	d.n.s.Stats.crashed(asked, d)
	d.queue, d.busy, d.noted = nil, false, nil
	d.full, d.slowBy = false, 0
}

// recover is what a host does at its start: a torn tail is gone already. A log without a database is what a crash has
// left of the first synchronization; it promises nothing, and counting on it would hide that this server may have
// lost its disk. That is marked before anything else is written.
func (d *disk) recover() {
	if !d.exists {
		d.history, d.blank = nil, true
		if d.lineage != nil {
			d.lineage = &zab.Lineage{Ensemble: d.lineage.Ensemble, Final: d.lineage.Final}
		}
	}
	d.check()
}

// check asserts what holds for the durable history whenever no write is in progress.
func (d *disk) check() {
	s := d.n.s
	if d.current > d.accepted {
		s.fail("Epochs", "server %d: currentEpoch %d is above acceptedEpoch %d", d.n.id, d.current, d.accepted)
	}
	if len(d.history) > 1 {
		a, b := d.history[len(d.history)-2].Zxid, d.history[len(d.history)-1].Zxid
		if !follows(a, b) {
			s.fail("LogContiguity", "server %d: log has %v after %v", d.n.id, b, a)
		}
	}
}

// follows is the rule of the log, written down a second time.
func follows(a, b proto.Zxid) bool {
	if a.Epoch() == b.Epoch() {
		return b.Counter() == a.Counter()+1
	}
	return b.Epoch() > a.Epoch() && b.Counter() == 1
}

// snapshot covers the first n txns and sometimes purges the log below.
func (d *disk) snapshot(n int) {
	s := d.n.s
	if n > len(d.history) {
		s.fail("Snapshots", "server %d: the state of %d txns is ahead of the log of %d", d.n.id, n, len(d.history))
	}
	if n <= d.snapLen {
		return
	}
	d.snapLen = n
	if s.chance(2) {
		d.logFrom = max(d.logFrom, n-s.rng.IntN(20))
	}
}
