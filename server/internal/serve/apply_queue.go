package serve

import (
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/internal/flow"
)

// ApplyQueue is the way from the node goroutine and the journal of a member to the applier. It never blocks; what a member
// lets wait in it is bounded by what may be in flight and by memberQueueMax.
type ApplyQueue struct {
	srv   *Front
	Inbox *flow.Inbox[applyWork]
	// turn is held by the applier goroutine, whoever that is, while it is not waiting.
	turn    sync.Mutex
	applier *applier
	works   []applyWork   // the last that were taken, for reuse; guarded by turn
	added   bool          // since the last come; owned by the node goroutine
	queued  *atomic.Int64 // bytes that wait to be applied
	// finished is up to which txn all are applied and answered: nothing looks at them any more.
	finished *atomic.Int64
}

// applyWork is a batch to be applied, or something else to be done in its place between batches.
type applyWork struct {
	batch *flow.ApplyBatch
	Call  func()
}

// NewApplyQueue returns an empty queue. The bytes of what is applied are taken off queued, and its last zxid
// is stored in finished.
func NewApplyQueue(srv *Front, queued, finished *atomic.Int64) *ApplyQueue {
	return &ApplyQueue{srv: srv, Inbox: flow.NewInbox[applyWork](srv.Runtime.Parker()), applier: NewApplier(srv), queued: queued, finished: finished}
}

// Put queues a batch for the next come. The node goroutine calls it.
func (q *ApplyQueue) Put(b *flow.ApplyBatch) {
	q.Inbox.Add(applyWork{batch: b})
	q.added = true
}

// Come sees to what was put: in calm the caller applies it, else whoever is at it, or the goroutine of the queue.
func (q *ApplyQueue) Come(calm bool) {
	if !q.added {
		return
	}
	q.added = false
	if calm && q.turn.TryLock() {
		q.apply()
		q.turn.Unlock()
		if q.Inbox.Empty() {
			return
		}
	}
	q.Inbox.Signal()
}

// Do runs fn in the applier goroutine when everything before it is applied.
func (q *ApplyQueue) Do(fn func()) { q.Inbox.Put(applyWork{Call: fn}) }

// Close ends the applier when everything before is applied.
func (q *ApplyQueue) Close() { q.Inbox.Close() }

// Swap replaces the served state, in its place between batches. Nobody is served then.
func (q *ApplyQueue) Swap(state *datatree.State) {
	q.Do(func() {
		st := q.srv.Store
		st.Mu.Lock()
		st.State = state
		st.Publish()
		st.Mu.Unlock()
		q.srv.Digests.Reset()
	})
}

// Run is the applier goroutine of a member.
func (q *ApplyQueue) Run() {
	defer q.srv.Applied.Open()
	for closed := false; !closed; {
		q.Inbox.Wait()
		q.turn.Lock()
		closed = q.apply()
		q.turn.Unlock()
	}
}

// apply applies what waits. REQUIRES: turn.
func (q *ApplyQueue) apply() (closed bool) {
	q.works, closed = q.Inbox.Take(q.works)
	for i := range q.works {
		if call := q.works[i].Call; call != nil {
			call()
			continue
		}
		b := q.works[i].batch
		q.applier.Apply(b)
		q.queued.Add(-b.Bytes)
		if b.Last > 0 {
			q.finished.Store(int64(b.Last))
		}
		q.srv.ApplyPool.Put(b)
	}
	return closed
}
