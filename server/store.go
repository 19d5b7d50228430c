package server

import (
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

// store is the replicated state with the watches on it, and the locks that guard them. See the
// package doc for who may take which.
type store struct {
	mu      sync.RWMutex
	state   *datatree.State // guarded by mu
	watches *watch.Registry // guarded by mu and watchMu: see the package doc

	// long is held by whoever is going to hold mu for reading for long, and by the applier before it asks for mu: so it does not wait in
	// mu, where everybody who only wants to read for a moment would wait behind it.
	long sync.Mutex

	watchMu sync.Mutex
	slots   []*conn           // by WatcherID; guarded as watches
	free    []watch.WatcherID // guarded as watches

	// listings is held by whoever reads very many children; see listing.go.
	listings sync.Mutex

	applied atomic.Int64 // state.LastZxid, for those who need no lock
	wide    atomic.Int64 // state.Wide, for those who need no lock
}

func newStore(state *datatree.State) *store {
	st := &store{state: state, watches: watch.New(), slots: make([]*conn, 1)}
	st.publish()
	return st
}

// publish tells those who need no lock what has changed. REQUIRES: mu, or that nobody else has the store.
func (st *store) publish() {
	st.applied.Store(int64(st.state.LastZxid()))
	if wide := int64(st.state.Wide()); wide != st.wide.Load() {
		st.wide.Store(wide)
	}
}

// rest lets the applier and its txns in between, if they wait. REQUIRES: RLock, and not long.
func (st *store) rest() {
	st.mu.RUnlock()
	st.mu.RLock()
}

// lastZxid is the zxid of the newest txn that is applied.
func (st *store) lastZxid() proto.Zxid { return proto.Zxid(st.applied.Load()) }

// slot returns c's WatcherID, and 0 if the connection is gone. REQUIRES: mu or RLock, watchMu.
func (st *store) slot(c *conn) watch.WatcherID {
	switch {
	case c.unwatchable:
		return 0
	case c.watcher != 0:
		return c.watcher
	case len(st.free) > 0:
		c.watcher = st.free[len(st.free)-1]
		st.free = st.free[:len(st.free)-1]
		st.slots[c.watcher] = c
	default:
		c.watcher = watch.WatcherID(len(st.slots))
		st.slots = append(st.slots, c)
	}
	return c.watcher
}

// watch registers a watch of c, and reports false if c would watch more than limit paths, 0 for any number. REQUIRES: mu or
// RLock.
func (st *store) watch(c *conn, kind watch.Kind, path []byte, limit int) bool {
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	id := st.slot(c)
	if id == 0 {
		return true
	}
	if limit > 0 && st.watches.PathsOf(id) >= limit && !st.watches.Has(id, proto.WatcherAny, path) {
		return false
	}
	st.watches.Add(id, kind, path)
	return true
}

// ephemeralsOf returns the paths of a session's ephemeral znodes. REQUIRES: mu or RLock.
func (st *store) ephemeralsOf(id proto.SessionID) (paths []string) {
	st.state.EachEphemeral(id, func(node datatree.NodeID) {
		paths = append(paths, string(st.state.AppendPath(nil, node)))
	})
	return paths
}

// unwatch removes every watch of the connection, which is gone: so many under one hold of the locks, and in one turn, that nobody
// waits for long. It is called by the reader, in the end.
func (c *conn) unwatch() {
	st := c.srv.store
	for place, done := st.unwatchSome(c, 0); !done; {
		c.srv.turns.Take()
		place, done = st.unwatchSome(c, place)
		c.srv.turns.Pass()
	}
}

// unwatchedPerLock is how many places in which a watch may be are looked at under one hold of the locks.
const unwatchedPerLock = 1024

// unwatchSome is a part of unwatch, from a place on.
func (st *store) unwatchSome(c *conn, place uint32) (next uint32, done bool) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	c.unwatchable = true
	if c.watcher == 0 {
		return 0, true
	}
	if next, done = st.watches.RemoveSome(c.watcher, place, unwatchedPerLock); !done {
		return next, false
	}
	st.slots[c.watcher] = nil
	st.free = append(st.free, c.watcher)
	c.watcher = 0
	return 0, true
}
