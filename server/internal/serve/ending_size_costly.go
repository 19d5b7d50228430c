//go:build invariants || race

package serve

// Every session that has an ephemeral ends in steps, so that tests meet what happens between them.
const (
	endsMany = 1
	endSlice = 8
)
