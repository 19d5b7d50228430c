//go:build !invariants && !race

package serve

const (
	// endsMany is how many ephemerals a session has at least that ends in steps: fewer take less than a millisecond.
	endsMany = 4096
	// endSlice is how many znodes are looked at, or freed, under one hold of the lock.
	endSlice = 1024
)
