package server

import (
	"github.com/seed94657493/warren/datatree"
)

// applyQueue is the way from the node goroutine and the journal of a member to the applier. It never blocks; what a member
// lets wait in it is bounded by what may be in flight and by memberQueueMax.
type applyQueue struct {
	m     *member
	inbox *inbox[applyWork]
}

// applyWork is a batch to be applied, or something else to be done in its place between batches.
type applyWork struct {
	batch *logBatch
	call  func()
}

func newApplyQueue(m *member) *applyQueue { return &applyQueue{m: m, inbox: newInbox[applyWork]()} }

func (q *applyQueue) put(b *logBatch) { q.inbox.put(applyWork{batch: b}) }

// do runs fn in the applier goroutine when everything before it is applied.
func (q *applyQueue) do(fn func()) { q.inbox.put(applyWork{call: fn}) }

// close ends the applier when everything before is applied.
func (q *applyQueue) close() { q.inbox.close() }

// swap replaces the served state, in its place between batches. Nobody is served then.
func (q *applyQueue) swap(state *datatree.State) {
	q.do(func() {
		st := q.m.srv.store
		st.mu.Lock()
		st.state = state
		st.applied.Store(int64(state.LastZxid()))
		st.mu.Unlock()
		q.m.srv.digests.reset()
	})
}

// runQueue is the applier goroutine of a member.
func (a *applier) runQueue(q *applyQueue) {
	var works []applyWork
	for closed := false; !closed; {
		<-q.inbox.wake
		works, closed = q.inbox.take(works)
		for i := range works {
			if works[i].call != nil {
				works[i].call()
				continue
			}
			b := works[i].batch
			a.apply(b)
			q.m.queued.Add(-b.bytes)
			a.srv.logBatches.put(b)
		}
	}
}
