package facts

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/serve"
)

// WatchersShown is how many watchers of a znode are listed.
const WatchersShown = 200

// Watchers are the clients of a server that an event of a znode would tell.
type Watchers struct {
	Path     string    `json:"path" doc:"of the znode"`
	Total    int       `json:"total" doc:"clients of this server that watch it"`
	Watchers []Watcher `json:"watchers" doc:"the first 200 of them, the oldest connection first"`
}

// Watcher is a client that watches a znode.
type Watcher struct {
	Session string `json:"session" doc:"label as in the record Session"`
	Address string `json:"address" doc:"of the client, host:port"`
	Data    bool   `json:"data" doc:"it hears of the data of the znode, its creation and its end"`
	Child   bool   `json:"child" doc:"it hears of the children of the znode"`
	Below   string `json:"below" doc:"the znode at and below which it hears of everything; empty for a watch of this one only"`
}

// Watchers is for the API. The locks of the tree and of watches are held for one connection at a time.
func (n *Shown) Watchers(a Actor, path string) (*Watchers, error) {
	if _, err := n.Znode(a, path, 0); err != nil {
		return nil, err
	}
	all := &Watchers{Path: path, Watchers: []Watcher{}}
	n.front.Conns.Each(func(c *serve.Conn) {
		session := c.Session.Load()
		if session == nil {
			return
		}
		w := Watcher{Data: n.front.HasWatch(c, proto.WatcherData, path),
			Child: n.front.HasWatch(c, proto.WatcherChildren, path)}
		if n.front.HasWatch(c, proto.WatcherPersistent, path) {
			w.Data, w.Child = true, true
		}
		for at := path; w.Below == ""; at = paths.ParentOf(at) {
			if n.front.HasWatch(c, proto.WatcherPersistentRecursive, at) {
				w.Below = at
			}
			if at == "/" {
				break
			}
		}
		if !w.Data && !w.Child && w.Below == "" {
			return
		}
		if all.Total++; len(all.Watchers) < WatchersShown {
			w.Session, w.Address = n.front.Label(session.ID), c.Remote.String()
			all.Watchers = append(all.Watchers, w)
		}
	})
	return all, nil
}
