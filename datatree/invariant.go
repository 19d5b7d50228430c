package datatree

import "fmt"

// invariant panics if a rule that the code relies on does not hold. It is for bugs of this
// package, never for input.
func invariant(rule string, holds bool, at uint64) {
	if !holds {
		panic(fmt.Sprintf("datatree: invariant broken: %s (at %#x)", rule, at))
	}
}

// checkChildren verifies the list of the children of a znode that has or had some.
func (s *State) checkChildren(id NodeID) {
	k := s.kinOf(s.rec(id))
	var n int32
	last := NodeID(0)
	for c := k.first; c != 0; c = s.rec(c).next {
		r := s.rec(c)
		invariant("a child names its parent", r.parent == id, uint64(c))
		invariant("a child names the sibling before", c == k.first || r.prev == last, uint64(c))
		n, last = n+1, c
	}
	invariant("the first child names the last", k.first == 0 || s.rec(k.first).prev == last, uint64(id))
	invariant("children are counted", n == k.children, uint64(id))
}
