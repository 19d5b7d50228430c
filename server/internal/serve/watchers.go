package serve

import (
	"sync"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

// watchers is the watches of all connections of a server. It is guarded by mu together with store.mu for reading, or by store.mu
// for writing.
type watchers struct {
	Mu       sync.Mutex
	Registry *watch.Registry
	Slots    []*Conn           // by WatcherID
	Free     []watch.WatcherID // slots without a connection
}

func newWatchers() *watchers { return &watchers{Registry: watch.New(), Slots: make([]*Conn, 1)} }

// slot returns c's WatcherID, and 0 if the connection is gone. REQUIRES: mu or RLock, watchers.mu.
func (ws *watchers) slot(c *Conn) watch.WatcherID {
	switch {
	case c.unwatchable:
		return 0
	case c.watcher != 0:
		return c.watcher
	case len(ws.Free) > 0:
		c.watcher = ws.Free[len(ws.Free)-1]
		ws.Free = ws.Free[:len(ws.Free)-1]
		ws.Slots[c.watcher] = c
	default:
		c.watcher = watch.WatcherID(len(ws.Slots))
		ws.Slots = append(ws.Slots, c)
	}
	return c.watcher
}

// Watch registers a watch of c, and reports false if c would watch more than limit paths, 0 for any number. REQUIRES: mu or
// RLock.
func (ws *watchers) Watch(c *Conn, kind watch.Kind, path []byte, limit int) bool {
	ws.Mu.Lock()
	defer ws.Mu.Unlock()
	id := ws.slot(c)
	if id == 0 {
		return true
	}
	if limit > 0 && ws.Registry.PathsOf(id) >= limit && !ws.Registry.Has(id, proto.WatcherAny, path) {
		return false
	}
	ws.Registry.Add(id, kind, path)
	return true
}

// Unwatch removes every watch of the connection, which is gone: so many under one hold of the locks, and in one turn, that nobody
// waits for long. It is called by the reader, in the end.
func (c *Conn) Unwatch() {
	ws := c.srv.Watchers
	for place, done := ws.unwatchSome(c, 0); !done; {
		c.srv.Turns.Take()
		place, done = ws.unwatchSome(c, place)
		c.srv.Turns.Pass()
	}
}

// unwatchedPerLock is how many places in which a watch may be are looked at under one hold of the locks.
const unwatchedPerLock = 1024

// unwatchSome is a part of unwatch, from a place on.
func (ws *watchers) unwatchSome(c *Conn, place uint32) (next uint32, done bool) {
	st := c.srv.Store
	st.Mu.RLock()
	defer st.Mu.RUnlock()
	ws.Mu.Lock()
	defer ws.Mu.Unlock()
	c.unwatchable = true
	if c.watcher == 0 {
		return 0, true
	}
	if next, done = ws.Registry.RemoveSome(c.watcher, place, unwatchedPerLock); !done {
		return next, false
	}
	ws.Slots[c.watcher] = nil
	ws.Free = append(ws.Free, c.watcher)
	c.watcher = 0
	return 0, true
}
