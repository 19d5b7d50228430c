//go:build !invariants && !race

package zab

func (c *Core) checkCostly() {}
