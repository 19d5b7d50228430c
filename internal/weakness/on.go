//go:build weak

package weakness

// Set is the defects of one server.
type Set struct {
	bits      uint64
	agreement uint32 // of package zab
}

// Of returns a Set. It exists only under the tag weak.
func Of(all ...Weakness) (s Set) {
	for _, w := range all {
		s.bits |= 1 << w
	}
	return s
}

// And returns the Set with a weakness of package zab, which is not known here. It exists only under the tag weak.
func (s Set) And(agreement uint32) Set { s.agreement |= agreement; return s }

// Has reports whether a server has a defect.
func (s Set) Has(w Weakness) bool { return s.bits&(1<<w) != 0 }

// Agreement returns the weaknesses of package zab. It exists only under the tag weak.
func (s Set) Agreement() uint32 { return s.agreement }
