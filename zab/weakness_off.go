//go:build !weak

package zab

// sabotage is empty in every build but those with the tag weak.
type sabotage struct{}

func (sabotage) weak(Weakness) bool { return false }
