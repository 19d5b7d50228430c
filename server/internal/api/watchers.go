package api

func watcherTable() []*route {
	return []*route{{method: "GET", path: "/watchers", name: "watchers",
		about:  "The clients that watch a znode, by watches of it and by recursive ones above it.",
		params: []param{pathParam}, gives: Watchers{}, serve: asksOthers(watchers)}}
}

func watchers(q *query) func(Server) (*Watchers, error) {
	path := q.path()
	return func(s Server) (*Watchers, error) { return s.Watchers(q.Actor, path) }
}
