package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Untouched: a server gives nothing up for a leader of which its own lineage tells that it has another history, and
// cuts nothing off that it knows to be committed. While it stays outside, its files stay as they are.

// checkRemoves looks at a write that removes txns from a disk before it begins.
func (s *Sim) checkRemoves(n *node, w *write) {
	if s.world == nil || !w.p.Truncate && w.p.Install == nil {
		return
	}
	d := &n.disk
	kept := w.replace
	if w.p.Truncate {
		kept = upTo(d.history, w.p.Last)
	}
	lost := 0
	for _, t := range d.history {
		if has(kept, t) {
			continue
		}
		lost++
		if w.p.Truncate && t.Zxid <= d.committed {
			s.fail("Untouched", "server %d cuts %v, but all up to %v is committed", n.id, t.Zxid, d.committed)
		}
		if s.world.delivered[string(t.Payload)] {
			s.Stats.Removed++
		}
	}
	if lost > 0 {
		s.checkTold(n, n.offered, "removes txns for")
	}
}

// checkTold fails if a server does something for the history of a run which its own disk shows to be another one.
func (s *Sim) checkTold(n *node, r *run, what string) {
	if s.world != nil && r != nil && n.disk.tells(r) {
		s.fail("Untouched", "server %d %s run %d of epoch %d, led by %d, but its lineage tells that the history is "+
			"another\nits own: %v\ntheirs: %v", n.id, what, r.number, r.epoch, r.leader, n.disk.lineage, r.lineage)
	}
}

// print is what a server that stays outside must not change.
type print struct {
	length            int
	last              proto.Zxid
	accepted, current int64
	exists, blank     bool
}

func (d *disk) print() print {
	return print{len(d.history), lastOf(d.history), d.accepted, d.current, d.exists, d.blank}
}

// idle reports whether no write is asked for but notes of lineages.
func (d *disk) idle() bool {
	return !slices.ContainsFunc(d.queue, func(w write) bool { return !w.note })
}

// noteOutside keeps how the disk of a server looks when it is told that it has to stay outside. It ends when another
// leader has taken it up.
func (n *node) noteOutside(st *zab.Status) {
	switch {
	case n.s.world == nil:
	case st.Outside == nil, st.State == zab.Leading, st.State != zab.Looking && st.Phase != zab.Discovery:
		n.kept = nil
	case n.kept == nil && n.disk.idle():
		now := n.disk.print()
		n.kept = &now
		n.s.Stats.Refusals++
	}
}

// checkKept is called when a write is done.
func (n *node) checkKept() {
	if n.kept == nil {
		return
	}
	if now := n.disk.print(); now != *n.kept {
		n.s.fail("Untouched", "server %d stays outside, but its disk changes from %+v to %+v", n.id, *n.kept, now)
	}
}
