package ensemble

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
)

// watchersShown is how many watchers of a znode are listed.
const watchersShown = 200

// Watchers are the clients that an event of a znode would tell.
type Watchers struct {
	Path     string    `json:"path" doc:"of the znode"`
	Total    int       `json:"total" doc:"clients that watch it"`
	Watchers []Watcher `json:"watchers" doc:"the first 200 of each server, the oldest connection first"`
	Servers  []ToldBy  `json:"servers" doc:"in the order of their ids"`
}

// Watcher is a client that watches a znode.
type Watcher struct {
	Server  int64  `json:"server" doc:"myid of the server to which it is connected; -1 for one that stands alone"`
	Session string `json:"session" doc:"label as in the record Session"`
	Address string `json:"address" doc:"of the client, host:port"`
	Data    bool   `json:"data" doc:"it hears of the data of the znode, its creation and its end"`
	Child   bool   `json:"child" doc:"it hears of the children of the znode"`
	Below   string `json:"below" doc:"the znode at and below which it hears of everything; empty for a watch of this one only"`
}

// WatchersOf returns those of this server; label names a session. The locks of the tree and of watches are held for
// one connection at a time.
func (f *Facts) WatchersOf(path string, label func(proto.SessionID) string) *Watchers {
	own := f.ID()
	all := &Watchers{Path: path, Watchers: []Watcher{}, Servers: []ToldBy{{ID: own}}}
	watched := f.front.WatchedAround(path)
	f.front.Conns.Each(func(c *serve.Conn) {
		session := c.Session.Load()
		if session == nil {
			return
		}
		w := Watcher{Server: own, Data: f.front.HasWatch(c, proto.WatcherData, path),
			Child: f.front.HasWatch(c, proto.WatcherChildren, path)}
		if f.front.HasWatch(c, proto.WatcherPersistent, path) {
			w.Data, w.Child = true, true
		}
		for i := 0; i < len(watched) && w.Below == ""; i++ {
			if f.front.HasWatch(c, proto.WatcherPersistentRecursive, watched[i]) {
				w.Below = watched[i]
			}
		}
		if !w.Data && !w.Child && w.Below == "" {
			return
		}
		if all.Total++; len(all.Watchers) < watchersShown {
			w.Session, w.Address = label(session.ID), c.Remote.String()
			all.Watchers = append(all.Watchers, w)
		}
	})
	return all
}
