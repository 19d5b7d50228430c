package server

import (
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/internal/flow"
)

// applyQueue is the way from the node goroutine and the journal of a member to the applier. It never blocks; what a member
// lets wait in it is bounded by what may be in flight and by memberQueueMax.
type applyQueue struct {
	srv   *front
	inbox *flow.Inbox[applyWork]
	// turn is held by the applier goroutine, whoever that is, while it is not waiting.
	turn    sync.Mutex
	applier *applier
	works   []applyWork // the last that were taken, for reuse; guarded by turn
	added   bool        // since the last come; owned by the node goroutine
	queued  *atomic.Int64
}

// applyWork is a batch to be applied, or something else to be done in its place between batches.
type applyWork struct {
	batch *flow.ApplyBatch
	call  func()
}

// newApplyQueue returns an empty queue. queued is where the bytes of what is applied are taken off.
func newApplyQueue(srv *front, queued *atomic.Int64) *applyQueue {
	return &applyQueue{srv: srv, inbox: flow.NewInbox[applyWork](srv.rt.Parker()), applier: newApplier(srv), queued: queued}
}

// put queues a batch for the next come. The node goroutine calls it.
func (q *applyQueue) put(b *flow.ApplyBatch) {
	q.inbox.Add(applyWork{batch: b})
	q.added = true
}

// come sees to what was put: in calm the caller applies it, else whoever is at it, or the goroutine of the queue.
func (q *applyQueue) come(calm bool) {
	if !q.added {
		return
	}
	q.added = false
	if calm && q.turn.TryLock() {
		q.apply()
		q.turn.Unlock()
		if q.inbox.Empty() {
			return
		}
	}
	q.inbox.Signal()
}

// do runs fn in the applier goroutine when everything before it is applied.
func (q *applyQueue) do(fn func()) { q.inbox.Put(applyWork{call: fn}) }

// close ends the applier when everything before is applied.
func (q *applyQueue) close() { q.inbox.Close() }

// swap replaces the served state, in its place between batches. Nobody is served then.
func (q *applyQueue) swap(state *datatree.State) {
	q.do(func() {
		st := q.srv.store
		st.mu.Lock()
		st.state = state
		st.publish()
		st.mu.Unlock()
		q.srv.digests.Reset()
	})
}

// run is the applier goroutine of a member.
func (q *applyQueue) run() {
	defer q.srv.applied.Open()
	for closed := false; !closed; {
		q.inbox.Wait()
		q.turn.Lock()
		closed = q.apply()
		q.turn.Unlock()
	}
}

// apply applies what waits. REQUIRES: turn.
func (q *applyQueue) apply() (closed bool) {
	q.works, closed = q.inbox.Take(q.works)
	for i := range q.works {
		if call := q.works[i].call; call != nil {
			call()
			continue
		}
		b := q.works[i].batch
		q.applier.apply(b)
		q.queued.Add(-b.Bytes)
		q.srv.applyPool.Put(b)
	}
	return closed
}
