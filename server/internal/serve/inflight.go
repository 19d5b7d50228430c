package serve

import (
	"sync/atomic"

	"github.com/seed94657493/warren/server/internal/flow"
)

// inFlight are the requests of a connection that cannot be answered yet: its writes, and what the client has sent
// behind them. The reader adds at the end. The applier takes a write from the front when it is applied, and runs the
// reads behind it; where these are much work it leaves them to catchUp. Guarded by Conn.mu, but for left.
//
// Invariant: while reads are left, the reader adds nothing.
type inFlight struct {
	flow.WaitQueue
	// left is whether the applier has left reads at the front of the queue to catchUp. It is set under Store.Mu,
	// held for writing, and cleared under Conn.mu; so the applier may ask without Conn.mu whether it is set.
	left   atomic.Bool
	helped bool // catchUp is running
}

// takesRead reports whether a read, or a finished reply, may be added.
func (q *inFlight) takesRead() bool { return !q.Full() && !q.left.Load() }

// takesWrite reports whether a write may be added.
func (q *inFlight) takesWrite() bool { return !q.left.Load() && q.TakesWrite() }

// leave leaves the requests before the next write to catchUp, and returns how many. They do not count as in process
// any more: they may wait for the client for long, and must not block other clients. REQUIRES: Store.Mu for writing.
func (q *inFlight) leave() int {
	q.left.Store(true)
	return q.LeaveAhead()
}

// forget drops what was left: the connection is dead.
func (q *inFlight) forget() {
	if q.left.Load() {
		q.DropAhead()
		q.left.Store(false)
	}
}
