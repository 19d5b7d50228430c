//go:build invariants || race

package datatree

// checkCostly asserts that the znodes of the session that has ended are not found, neither by their names nor among
// the children of their parents, and that no Walker is at one of them. It is linear in the children of the parents, so
// it runs under the tags invariants and race only.
func (e *Ending) checkCostly() {
	s := e.state
	for i := range e.parents {
		id := e.parents[i].id
		s.checkChildren(id)
		s.EachChild(id, func(c NodeID) bool {
			invariant("a session that has ended has no children among others", !s.ended.has(s.rec(c)), uint64(c))
			return true
		})
	}
	for id := range s.each(e.owned) {
		r := s.rec(id)
		invariant("a znode that has gone is not found", s.Child(r.parent, s.Name(id)) == 0, uint64(id))
	}
	for _, w := range s.walkers.live {
		invariant("a walker is at a znode that exists", w.cursor <= Root || !s.ended.has(s.rec(w.cursor)),
			uint64(w.cursor))
	}
}
