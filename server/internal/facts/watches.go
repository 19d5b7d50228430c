package facts

import (
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

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

// Watches returns the data watches with their sessions, each once.
func (f *Facts) Watches() (all []Watch) {
	f.front.EachDataWatch(func(id proto.SessionID, path []byte) {
		all = append(all, Watch{Session: int64(id), Path: string(path)})
	})
	return all
}

// WatchSummary returns the number of data watches, and of what they join.
func (f *Facts) WatchSummary() WatchSummary {
	var s WatchSummary
	f.front.Watches(func(r *watch.Registry) { s.Connections, s.Paths, s.Total = r.CountData() })
	return s
}

// WatchCosts returns the bytes of all watched paths, the memory that all watches take, in bytes, and how many watches
// were refused.
func (f *Facts) WatchCosts() (paths, memory uint64, refused int64) {
	f.front.Watches(func(r *watch.Registry) { paths = r.PathBytes() })
	return paths, f.front.WatchMemory(), f.front.RefusedWatches()
}
