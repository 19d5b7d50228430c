package api

import "net/http"

func watcherTable() []*route {
	return []*route{{method: "GET", path: "/watchers", name: "watchers",
		about:  "The clients that watch a znode, by watches of it and by recursive ones above it.",
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
