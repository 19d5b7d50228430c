//go:build weak

package weakness

// Set is the defects of one server.
type Set struct{ bits uint64 }

// Of returns a Set. It exists only under the tag weak.
func Of(all ...Weakness) (s Set) {
	for _, w := range all {
		s.bits |= 1 << w
	}
	return s
}

// Has reports whether a server has a defect.
func (s Set) Has(w Weakness) bool { return s.bits&(1<<w) != 0 }
