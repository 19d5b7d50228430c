package serve

import (
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
)

// watchers holds the watches of all connections. It is guarded by mu together with Store.Mu for reading, or by
// Store.Mu for writing.
type watchers struct {
	env      *env.Env
	mu       sync.Mutex
	refused  atomic.Int64 // watches that a limit has refused
	registry *watch.Registry
	slots    []*Conn           // by WatcherID
	free     []watch.WatcherID // slots without a connection
	limits   *config.Limits    // never changes
}

func newWatchers(e *env.Env) *watchers {
	l := &e.Config.Limits
	most := uint64(min(l.MaxWatchMemory, env.Memory()/4)) // 0 is unlimited
	return &watchers{env: e, registry: watch.New(most), slots: make([]*Conn, 1), limits: l}
}

// slot returns the WatcherID of c, 0 if the connection has ended. REQUIRES: Store.Mu for reading, watchers.mu.
func (ws *watchers) slot(c *Conn) watch.WatcherID {
	switch {
	case c.unwatchable:
		return 0
	case c.watcher != 0:
		return c.watcher
	case len(ws.free) > 0:
		c.watcher = ws.free[len(ws.free)-1]
		ws.free = ws.free[:len(ws.free)-1]
		ws.slots[c.watcher] = c
	default:
		c.watcher = watch.WatcherID(len(ws.slots))
		ws.slots = append(ws.slots, c)
	}
	return c.watcher
}

// watch registers a watch of c. It reports false if c would then watch more than its limits allow. REQUIRES:
// Store.Mu.
func (ws *watchers) watch(c *Conn, kind watch.Kind, path []byte) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	id := ws.slot(c)
	if id == 0 {
		return true
	}
	if ws.exceeds(id, path) != "" || !ws.registry.Add(id, kind, path) {
		ws.refused.Add(1)
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
// reading, watchers.mu.
func (ws *watchers) exceeds(id watch.WatcherID, path []byte) (limit string) {
	paths, bytes := ws.registry.Use(id)
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
	if ws.registry.Has(id, proto.WatcherAny, path) {
		return ""
	}
	return limit
}

// left is how much of the memory for watches is left. REQUIRES: Store.Mu for reading, watchers.mu.
func (ws *watchers) left() uint64 {
	most, held := uint64(ws.limits.MaxWatchMemory), ws.registry.Held()
	return max(most, held) - held
}

// rewatch registers a watch of an arrival again, and adds the event that its client has missed, if any, to b. It
// returns the limit that does not allow the watch, "" if it is registered. REQUIRES: Store.Mu for reading,
// watchers.mu.
func (ws *watchers) rewatch(s *datatree.State, id watch.WatcherID, a *arrival, path, b []byte) ([]byte, string) {
	if limit := ws.exceeds(id, path); limit != "" {
		return b, limit
	}
	event, fire, ok := ws.registry.Rewatch(s, id, a.kind, path, a.relative)
	if !ok {
		return b, limitWatchMemory
	}
	if fire {
		b = appendEvent(b, event, path, -1)
	}
	return b, ""
}

// refuseWatches ends a connection that brings more watches than the limit of that name allows. After an error the
// client would still believe that it watches. REQUIRES: Conn.mu.
func (c *Conn) refuseWatches(limit string) {
	c.srv.Log.Warn("closing client connection: it sets more watches than a limit allows",
		zap.Stringer("client_addr", c.Remote), zap.String("limit", limit))
	c.srv.watchers.refused.Add(1)
	c.mu.out.closing = true
}

// removeAll removes every watch of a connection after it has ended. A bounded number is removed under one hold of the
// locks and in one turn, so that other goroutines do not wait long. The reader calls it last.
func (ws *watchers) removeAll(c *Conn) {
	for place, done := ws.removeSome(c, 0); !done; {
		c.srv.turns.Take()
		place, done = ws.removeSome(c, place)
		c.srv.turns.Pass()
	}
}

// unwatchedPerLock is how many places for a watch are examined under one hold of the locks.
const unwatchedPerLock = 1024

// removeSome is one part of removeAll, beginning at place.
func (ws *watchers) removeSome(c *Conn, place uint32) (next uint32, done bool) {
	st := c.srv.Store
	st.Mu.RLock()
	defer st.Mu.RUnlock()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	c.unwatchable = true
	if c.watcher == 0 {
		return 0, true
	}
	if next, done = ws.registry.RemoveSome(c.watcher, place, unwatchedPerLock); !done {
		return next, false
	}
	ws.slots[c.watcher] = nil
	ws.free = append(ws.free, c.watcher)
	c.watcher = 0
	return 0, true
}

// ProbeLocks returns when it has had each of the locks of this package that the requests of every client take. It is a
// probe of whether clients are served.
func (s *Front) ProbeLocks() {
	s.CountWatches()
	s.Conns.Len()
}

// Watches calls look with the watches of all connections, which look must not change. REQUIRES: not Store.Mu.
func (ws *watchers) Watches(look func(*watch.Registry)) {
	ws.env.Store.Mu.RLock()
	defer ws.env.Store.Mu.RUnlock()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	look(ws.registry)
}

// CountWatches returns how many watches there are. REQUIRES: as Watches.
func (ws *watchers) CountWatches() (n int) {
	ws.Watches(func(r *watch.Registry) { _, _, n = r.Count() })
	return n
}

// WatchMemory returns how many bytes all watches take. REQUIRES: as Watches.
func (ws *watchers) WatchMemory() (n uint64) {
	ws.Watches(func(r *watch.Registry) { n = r.Held() })
	return n
}

// WatchedPaths returns how many paths a connection watches. REQUIRES: as Watches.
func (ws *watchers) WatchedPaths(c *Conn) (n int) {
	ws.Watches(func(r *watch.Registry) { n, _ = r.Use(c.watcher) })
	return n
}

// EachDataWatch calls fn for the data watches of connections with a session. The locks are held for some hundred paths
// at a time: there may be millions. REQUIRES: as Watches.
func (ws *watchers) EachDataWatch(fn func(id proto.SessionID, path []byte)) {
	for page, more := 0, true; more; page++ {
		ws.Watches(func(r *watch.Registry) {
			more = r.EachOf(page, func(id watch.WatcherID, path []byte) {
				if c := ws.slots[id]; c != nil && c.sessionID() != 0 {
					fn(c.sessionID(), path)
				}
			})
		})
	}
}

// RefusedWatches returns how many watches, and reconnects with watches, a limit has refused.
func (ws *watchers) RefusedWatches() int64 { return ws.refused.Load() }

// HasWatch reports whether a connection has a watch of a type on exactly a path. REQUIRES: as Watches.
func (ws *watchers) HasWatch(c *Conn, t proto.WatcherType, path string) (has bool) {
	ws.Watches(func(r *watch.Registry) { has = r.Has(c.watcher, t, []byte(path)) })
	return has
}

// WatchedAround returns which of a path and those above it somebody watches, the longest first. A path may have
// thousands of levels, of which to ask for every connection would take minutes. REQUIRES: as Watches.
func (ws *watchers) WatchedAround(path string) (watched []string) {
	ws.Watches(func(r *watch.Registry) {
		for at := path; ; at = paths.ParentOf(at) {
			if r.At([]byte(at)) {
				watched = append(watched, at)
			}
			if at == "/" {
				return
			}
		}
	})
	return watched
}
