package serve

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// The end of a session with very many ephemerals. To delete a million znodes takes a fifth of a second, which is too
// long to hold the lock. So the applier prepares such a txn under the read lock, while others read, applies it in a
// short hold of the write lock, and frees the memory in slices, each of which waits in the queue behind the batches
// that have come. See datatree.Ending.

// end is the txn of such a session.
type end struct {
	*datatree.Ending
	prepared bool // false: it is to be applied at once
}

// endOf returns the end of a session if a txn is one that must not be applied at once, else nil. REQUIRES: Store.Mu.
func (a *applier) endOf(it *flow.Item) *end {
	if it.Op != proto.OpCloseSession || it.Payload == nil {
		return nil
	}
	if e := a.srv.Store.State.NewEnding(it.Payload, endsMany); e != nil {
		return &end{Ending: e}
	}
	return nil
}

// prepare prepares the end of a session. The applier is the only writer of the tree, so nothing changes until it goes
// on; but readers leave watches, of which the Ending hears. REQUIRES: no lock but ApplyQueue.turn.
func (a *applier) prepare(e *end) {
	st, ws := a.srv.Store, a.srv.watchers
	for a.reap() {
	}
	e.EachSlice(endSlice)
	st.Mu.RLock()
	if a.srv.audit != nil {
		a.auditEnd(e.Session(), st.Rest)
	}
	ws.mu.Lock()
	ws.registry.Follow(e.Late)
	e.prepared = e.Prepare(ws.registry, func() {
		ws.mu.Unlock()
		st.Rest()
		ws.mu.Lock()
	})
	if !e.prepared {
		ws.registry.Follow(nil)
	}
	ws.mu.Unlock()
	st.Mu.RUnlock()
}

// auditEnd writes a line for each ephemeral of a session that ends to the audit log, and rests now and then: nobody
// else changes the tree. REQUIRES: Store.Mu, at least for reading.
func (a *applier) auditEnd(id proto.SessionID, rest func()) {
	state, log, n := a.srv.Store.State, a.srv.audit, 0
	state.EachEphemeral(id, func(node datatree.NodeID) {
		log.Ended(id, string(state.AppendPath(nil, node)))
		if n++; n%endSlice == 0 {
			rest()
		}
	})
}

// applyEnd applies the end of a session that was prepared. REQUIRES: Store.Mu for writing.
func (a *applier) applyEnd(e *end) datatree.Applied {
	a.reaps = true
	a.srv.watchers.registry.Follow(nil)
	return e.Apply(a)
}

// reap frees some of the memory of the last session that has ended, and reports whether there is more. REQUIRES: no
// lock but ApplyQueue.turn.
func (a *applier) reap() (more bool) {
	if !a.reaps {
		return false
	}
	st := a.srv.Store
	st.Long.Lock()
	st.Mu.Lock()
	a.reaps = st.State.Reap(endSlice)
	st.Mu.Unlock()
	st.Long.Unlock()
	return a.reaps
}
