package serve

import (
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// watchers holds the watches of all connections. It is guarded by Mu together with Store.Mu for reading, or by
// Store.Mu for writing.
type watchers struct {
	Mu       sync.Mutex
	Refused  atomic.Int64 // watches that a limit has refused
	Registry *watch.Registry
	Slots    []*Conn           // by WatcherID
	Free     []watch.WatcherID // slots without a connection
	limits   *config.Limits    // never changes
}

func newWatchers(l *config.Limits) *watchers {
	return &watchers{Registry: watch.NewBounded(uint64(l.MaxWatchMemory)), Slots: make([]*Conn, 1), limits: l}
}

// slot returns the WatcherID of c, 0 if the connection has ended. REQUIRES: Store.Mu for reading, watchers.Mu.
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

// Watch registers a watch of c. It reports false if c would then watch more than its limits allow. REQUIRES:
// Store.Mu.
func (ws *watchers) Watch(c *Conn, kind watch.Kind, path []byte) bool {
	ws.Mu.Lock()
	defer ws.Mu.Unlock()
	id := ws.slot(c)
	if id == 0 {
		return true
	}
	if ws.exceeds(id, path) != "" || !ws.Registry.Add(id, kind, path) {
		ws.Refused.Add(1)
		return false
	}
	return true
}

const (
	// watchCost is about what a watched path takes beside its name, in bytes, while one connection watches it.
	watchCost = 64
	// watchShare is the part of the memory for watches that is left, which one connection may take.
	watchShare = 8
)

// Names of the limits of watches.
const (
	limitWatches     = "warren.maxWatches"
	limitWatchBytes  = "warren.maxWatchBytes"
	limitWatchMemory = "warren.maxWatchMemory"
)

// exceeds returns the limit that the connection exceeds if it watches path, "" if it may. REQUIRES: Store.Mu for
// reading, watchers.Mu.
func (ws *watchers) exceeds(id watch.WatcherID, path []byte) (limit string) {
	paths, bytes := ws.Registry.Use(id)
	l := ws.limits
	bytes += uint64(len(path))
	switch {
	case l.MaxWatches > 0 && paths >= l.MaxWatches:
		limit = limitWatches
	case l.MaxWatchBytes > 0 && bytes > uint64(l.MaxWatchBytes):
		limit = limitWatchBytes
	case l.MaxWatchMemory > 0 && bytes+watchCost*uint64(paths+1) > ws.left()/watchShare:
		limit = limitWatchMemory
	default:
		return ""
	}
	if ws.Registry.Has(id, proto.WatcherAny, path) {
		return ""
	}
	return limit
}

// left is how much of the memory for watches is left. REQUIRES:
// Store.Mu for reading, watchers.Mu.
func (ws *watchers) left() uint64 {
	most, held := uint64(ws.limits.MaxWatchMemory), ws.Registry.Held()
	return max(most, held) - held
}

// Unwatch removes every watch of the connection after it has ended. A bounded number is removed under one hold of
// the locks and in one turn, so that other goroutines do not wait long. The reader calls it last.
func (c *Conn) Unwatch() {
	ws := c.srv.Watchers
	for place, done := ws.unwatchSome(c, 0); !done; {
		c.srv.Turns.Take()
		place, done = ws.unwatchSome(c, place)
		c.srv.Turns.Pass()
	}
}

// unwatchedPerLock is how many places for a watch are examined under one hold of the locks.
const unwatchedPerLock = 1024

// unwatchSome is one part of Unwatch, beginning at place.
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
