package facts

import "github.com/seed94657493/warren/datatree/watch"

// Watch is one session that watches one path.
type Watch struct {
	Session int64
	Path    string
}

// WatchSummary is the answer of watch_summary.
type WatchSummary struct {
	Connections int `json:"num_connections"`
	Paths       int `json:"num_paths"`
	Total       int `json:"num_total_watches"`
}

// readWatches calls read with the watches of the server, under their locks.
func (f *Facts) readWatches(read func(*watch.Registry)) {
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	f.front.Watchers.Mu.Lock()
	defer f.front.Watchers.Mu.Unlock()
	read(f.front.Watchers.Registry)
}

// Watches returns the data watches with their sessions, each once.
func (f *Facts) Watches() (all []Watch) {
	f.readWatches(func(r *watch.Registry) {
		r.Each(func(id watch.WatcherID, path []byte) {
			if c := f.front.Watchers.Slots[id]; c != nil && c.Session.Load() != nil {
				all = append(all, Watch{Session: int64(c.Session.Load().ID), Path: string(path)})
			}
		})
	})
	return all
}

// WatchSummary returns the number of data watches, and of what they join.
func (f *Facts) WatchSummary() WatchSummary {
	var s WatchSummary
	f.readWatches(func(r *watch.Registry) { s.Connections, s.Paths, s.Total = r.CountData() })
	return s
}

// WatchCosts returns the bytes of all watched paths, the memory that all watches take, in bytes, and how many watches
// were refused.
func (f *Facts) WatchCosts() (paths, memory uint64, refused int64) {
	f.readWatches(func(r *watch.Registry) { paths = r.PathBytes() })
	return paths, f.front.WatchMemory(), f.front.Watchers.Refused.Load()
}
