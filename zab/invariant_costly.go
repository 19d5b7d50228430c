//go:build invariants || race

package zab

// checkCostly asserts that the window is contiguous. It is linear, so it runs under the tags invariants and race
// only.
func (c *Core) checkCostly() {
	last := c.log.window.before
	bytes := 0
	for _, t := range c.log.window.txns {
		if !succeeds(last, t.Zxid) {
			violated("window: %v follows %v", t.Zxid, last)
		}
		last = t.Zxid
		bytes += len(t.Payload)
	}
	if bytes != c.log.window.bytes {
		violated("window: %d bytes are counted as %d", bytes, c.log.window.bytes)
	}
}
