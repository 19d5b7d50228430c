package words

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Watchers implements api.Server. The locks of the tree and of watches are held for one connection at a time.
func (n shown) Watchers(a api.Actor, path string) (*api.Watchers, error) {
	if _, err := n.Znode(a, path, 0); err != nil {
		return nil, err
	}
	all := &api.Watchers{Path: path, Watchers: []api.Watcher{}}
	n.front.Conns.Each(func(c *serve.Conn) {
		session := c.Session.Load()
		if session == nil {
			return
		}
		w := api.Watcher{Data: n.front.HasWatch(c, proto.WatcherData, path),
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
		if all.Total++; len(all.Watchers) < api.WatchersShown {
			w.Session, w.Address = n.front.Label(session.ID), c.Remote.String()
			all.Watchers = append(all.Watchers, w)
		}
	})
	return all, nil
}
