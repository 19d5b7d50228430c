package sim

import (
	"cmp"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// leavers is what happens to servers that leave the ensemble. Some lose their disk, which is right as soon as no
// server may have to ask them any more (outsider). They come back with nothing, as voters or as observers first.
// Others are hidden by a partition, and removed and added again meanwhile.
type leavers struct {
	empties bool // servers that have left lose their disks
	hides   bool // members are removed and added again while a partition hides them
	hidden  *node
	gone    bool            // it was removed
	asked   []*zab.Ensemble // the configurations that were ever proposed
}

func (l *leavers) init(r *reconfigs) {
	l.empties, l.hides = r.rng.IntN(2) == 0, r.rng.IntN(2) == 0
}

func names(e *zab.Ensemble, id proto.ServerID) bool { return e.Votes(id) || e.Observes(id) }

// outsider reports whether a server may lose its disk because it has left: no configuration names it that is in force,
// or that may come into force without being asked for again. And a txn behind the one that removed it is committed. A
// member writes that a configuration is committed before any later txn, so by then a quorum of the members knows it
// durably. Before that all of them may crash and forget the commit. Then they ask a quorum of the former members, too.
func (s *Sim) outsider(n *node) bool {
	last := s.inForce(len(s.order))
	if k := len(s.configs); k > 0 && len(s.order) == s.configs[k-1].at+1 {
		return false
	}
	return !names(last, n.id) && !slices.ContainsFunc(s.reconfigs.leavers.asked, func(e *zab.Ensemble) bool {
		return e.Version > last.Version && names(e, n.id)
	})
}

// missed reports whether a server may ask one that has left for its history, or tell it of an earlier configuration
// when both join again: it is so far behind that it knows an earlier one only, which names that server.
func (s *Sim) missed(n *node) bool {
	last := s.inForce(len(s.order))
	return slices.ContainsFunc(s.nodes, func(o *node) bool {
		known := cmp.Or(o.disk.ensemble, o.file, s.reconfigs.initial)
		return o != n && known.Version < last.Version && names(known, n.id)
	})
}

// committed is called when a configuration is in force.
func (l *leavers) committed(s *Sim, e *zab.Ensemble) {
	r := &s.reconfigs
	for _, n := range s.nodes {
		switch {
		case n.left && e.Votes(n.id):
			n.left = false
			s.Stats.Returned++
		case n.left && e.Observes(n.id) && !n.observes:
			n.observes = true
			s.Stats.ReturnedObserving++
		case !names(e, n.id) && l.empties && r.rng.IntN(2) == 0:
			s.after(r.rng.Int64N(5000), func() { l.empty(s, n) })
		}
	}
	switch n := l.hidden; {
	case n == nil:
	case !names(e, n.id):
		l.gone = true
	case l.gone:
		if s.net.cutOff(n) {
			s.Stats.Hidden++
		}
		l.hidden, l.gone = nil, false
	}
}

// cutOff reports whether nothing reaches a server.
func (w *network) cutOff(n *node) bool {
	for _, o := range n.s.nodes {
		if o != n && !w.stalled[[2]proto.ServerID{o.id, n.id}] {
			return false
		}
	}
	return true
}

// empty loses the disk of a server that has left.
func (l *leavers) empty(s *Sim, n *node) {
	if s.faults.healed || n.lost.memory || !s.outsider(n) || s.missed(n) {
		return
	}
	s.tracef("%d has left, and loses its disk", n.id)
	n.crash()
	n.forget()
	s.net.silence(n)
	n.left, n.observes = true, false
	s.Stats.Left++
	s.faults.later(s, s.between(500, 20_000), n.start)
}

// given is what an operator writes into the file of a server that has lost its disk: the last configuration, or, for
// a server that is to join, its members and itself. nil is the first configuration.
func (s *Sim) given(n *node) *zab.Ensemble {
	e := s.inForce(len(s.order))
	if !s.opts.Reconfig || e.Version == 0 {
		return nil
	}
	if s.outsider(n) && s.reconfigs.rng.IntN(2) == 0 {
		return joining(e, n.id)
	}
	return e
}

// joining is a configuration with a server that is to join it.
func joining(e *zab.Ensemble, id proto.ServerID) *zab.Ensemble {
	if id%2 == 0 {
		return ensemble(0, e.Quorum.Voters(), append(slices.Clone(e.Observers), id), false)
	}
	return ensemble(0, append(slices.Clone(e.Quorum.Voters()), id), e.Observers, false)
}

// draw makes the next configuration for a server that was hidden, or that has left and lost its disk. It reports
// whether there is one.
func (l *leavers) draw(s *Sim, leader *node, voters, observers []proto.ServerID) (_, _ []proto.ServerID, ok bool) {
	r := &s.reconfigs
	with := func(ids []proto.ServerID, id proto.ServerID) []proto.ServerID {
		return append(without(ids, id), id)
	}
	switch n := l.hidden; {
	case n != nil && r.rng.IntN(4) > 0:
		if l.gone && r.rng.IntN(4) > 0 {
			return with(voters, n.id), without(observers, n.id), true
		} else if l.gone {
			return without(voters, n.id), with(observers, n.id), true
		}
		return without(voters, n.id), without(observers, n.id), true
	case n == nil && l.hides && r.rng.IntN(5) == 0 && len(voters) > max(r.voters, 1):
		if id := voters[r.rng.IntN(len(voters))]; id != leader.id {
			l.hide(s, s.node(id))
			return without(voters, id), observers, true
		}
	}
	for _, n := range s.nodes {
		switch {
		case !n.left || r.rng.IntN(2) == 0:
		case slices.Contains(observers, n.id) || r.rng.IntN(2) == 0:
			return with(voters, n.id), without(observers, n.id), true
		default:
			return without(voters, n.id), with(observers, n.id), true
		}
	}
	return nil, nil, false
}

func without(ids []proto.ServerID, id proto.ServerID) []proto.ServerID {
	return slices.DeleteFunc(slices.Clone(ids), func(o proto.ServerID) bool { return o == id })
}

// hide cuts a server off from all others for a while.
func (l *leavers) hide(s *Sim, n *node) {
	l.hidden, l.gone = n, false
	long := s.between(10_000, 100_000)
	for _, o := range s.nodes {
		if o != n {
			s.faults.stall(s, n.id, o.id, long)
			s.faults.stall(s, o.id, n.id, long)
		}
	}
	s.faults.later(s, long, func() { l.hidden, l.gone = nil, false })
}
