package api

import "net/http"

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

// watcherViews tell who watches a znode.
type watcherViews interface {
	// Watchers returns the clients of this server that watch a znode, which the actor must be able to read.
	Watchers(a Actor, path string) (*Watchers, error)
}

func watcherTable() []*route {
	return []*route{{method: "GET", path: "/watchers", name: "watchers",
		about:  "The clients of this server that watch a znode, by watches of it and by recursive ones above it.",
		params: []param{pathParam}, gives: Watchers{}, serve: (*API).watchers}}
}

func (a *API) watchers(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path := q.text("path", "")
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Watchers, error) { return a.o.Server.Watchers(v.Actor, path) })
}
