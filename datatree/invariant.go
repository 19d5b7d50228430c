package datatree

import "fmt"

// invariant panics if a rule that the code relies on does not hold. It is for bugs of this
// package, never for input.
func invariant(rule string, holds bool, at uint64) {
	if !holds {
		panic(fmt.Sprintf("datatree: invariant broken: %s (at %#x)", rule, at))
	}
}
