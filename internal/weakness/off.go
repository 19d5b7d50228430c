//go:build !weak

package weakness

// Set is the defects of one server: none, in every build but those with the tag weak.
type Set struct{}

// Has reports whether a server has a defect.
func (Set) Has(Weakness) bool { return false }
