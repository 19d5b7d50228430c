package zab

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// violated ends the process: the code has broken a rule of safety, and nothing that it would do next can be
// trusted.
func violated(format string, args ...any) {
	panic("zab: invariant violated: " + fmt.Sprintf(format, args...))
}

// check asserts what must hold after every input. Source: quorum-protocol 15.2.
func (c *Core) check() {
	if c.epochs.Current > c.epochs.Accepted {
		violated("currentEpoch %d is above acceptedEpoch %d", c.epochs.Current, c.epochs.Accepted)
	}
	if c.stable.epochs.Accepted > c.epochs.Accepted {
		violated("acceptedEpoch %d is durable, but only %d was asked for", c.stable.epochs.Accepted, c.epochs.Accepted)
	}
	if c.stable.last > c.last {
		violated("%v is durable, but the log ends at %v", c.stable.last, c.last)
	}
	if c.last > c.window.last() {
		violated("the log ends at %v, the window at %v", c.last, c.window.last())
	}
	if c.delivered > c.last {
		violated("%v is delivered, but the log ends at %v", c.delivered, c.last)
	}
	if c.delivered < c.window.before {
		violated("only %v is delivered, but the window begins after %v", c.delivered, c.window.before)
	}
	if c.role == Leading && c.ld.epoch > c.epochs.Accepted && c.ld.stage >= leaderPromising {
		violated("leading epoch %d, but acceptedEpoch is %d", c.ld.epoch, c.epochs.Accepted)
	}
	if c.role == Leading && c.committed > c.window.last() && c.committed.Counter() != 0 {
		violated("%v is committed, but the last proposal is %v", c.committed, c.window.last())
	}
	if c.next != nil && c.next.Version <= c.active.Version {
		violated("configuration %v is pending, but %v is committed", c.next.Version, c.active.Version)
	}
	c.checkCostly()
}

// checkDeliver asserts that txns continue what was delivered and are durable here: memory is never ahead of the disk.
func (c *Core) checkDeliver(txns []Txn) {
	last := c.delivered
	for _, t := range txns {
		if !succeeds(last, t.Zxid) {
			violated("%v is delivered after %v", t.Zxid, last)
		}
		last = t.Zxid
	}
	if last > c.stable.last {
		violated("%v is delivered, but only %v is durable", last, c.stable.last)
	}
}

// checkProposal asserts that a leader numbers its proposals without a gap and stays below the end of the counter.
func (c *Core) checkProposal(z proto.Zxid) {
	if z != c.ld.proposed+1 {
		violated("proposal %v after %v", z, c.ld.proposed)
	}
	if z.Counter() == counterMax {
		violated("proposal %v: that counter is never proposed", z)
	}
}
