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
	if c.log.epochs.Current > c.log.epochs.Accepted {
		violated("currentEpoch %d is above acceptedEpoch %d", c.log.epochs.Current, c.log.epochs.Accepted)
	}
	if c.log.stable.epochs.Accepted > c.log.epochs.Accepted {
		violated("acceptedEpoch %d is durable, but only %d was asked for",
			c.log.stable.epochs.Accepted, c.log.epochs.Accepted)
	}
	if c.log.stable.last > c.log.last {
		violated("%v is durable, but the log ends at %v", c.log.stable.last, c.log.last)
	}
	if c.log.last > c.log.window.last() {
		violated("the log ends at %v, the window at %v", c.log.last, c.log.window.last())
	}
	if c.log.delivered > c.log.last {
		violated("%v is delivered, but the log ends at %v", c.log.delivered, c.log.last)
	}
	if c.log.delivered < c.log.window.before {
		violated("only %v is delivered, but the window begins after %v", c.log.delivered, c.log.window.before)
	}
	if c.role == Leading && c.epoch > c.log.epochs.Accepted && c.ld.stage >= leaderPromising {
		violated("leading epoch %d, but acceptedEpoch is %d", c.epoch, c.log.epochs.Accepted)
	}
	if c.role == Leading && c.log.committed > c.log.window.last() && c.log.committed.Counter() != 0 {
		violated("%v is committed, but the last proposal is %v", c.log.committed, c.log.window.last())
	}
	if c.next != nil && c.next.Version <= c.active.Version {
		violated("configuration %v is pending, but %v is committed", c.next.Version, c.active.Version)
	}
	c.checkCostly()
}

// checkDeliver asserts that txns continue what was delivered and are durable here: memory is never ahead of the disk.
func (r *replica) checkDeliver(txns []Txn) {
	last := r.log.delivered
	for _, t := range txns {
		if !succeeds(last, t.Zxid) {
			violated("%v is delivered after %v", t.Zxid, last)
		}
		last = t.Zxid
	}
	if last > r.log.stable.last {
		violated("%v is delivered, but only %v is durable", last, r.log.stable.last)
	}
}

// checkProposal asserts that a leader numbers its proposals without a gap and stays below the end of the counter.
func (ld *leader) checkProposal(z proto.Zxid) {
	if z != ld.proposed+1 {
		violated("proposal %v after %v", z, ld.proposed)
	}
	if z.Counter() == counterMax {
		violated("proposal %v: that counter is never proposed", z)
	}
}
