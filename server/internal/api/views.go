package api

import "net/http"

var underParam = param{name: "under", about: "path of the znode below which is looked; / if it is not given"}

// viewsTable are the routes of Views.
func viewsTable() []*route {
	return append([]*route{
		{method: "GET", path: "/ensembles", name: "ensembles",
			about: "The ensembles of warren.console.ensembles, as their servers describe themselves.",
			gives: Ensembles{}, serve: (*API).ensembles},
		{method: "GET", path: "/recipes", name: "recipes",
			about: "Locks, elections, semaphores, barriers, queues, services and groups, decoded. Each request " +
				"looks at a bounded part of the tree.",
			params: []param{underParam, limitParam,
				{name: "after", about: "where the answer before this one has stopped"}},
			gives: Recipes{}, serve: (*API).recipes},
		{method: "GET", path: "/sizes", name: "sizes",
			about:  "What the subtrees of a znode hold. A large tree is counted by many requests: ask while it runs.",
			params: []param{{name: "path", about: "path of a znode; / if it is not given"}},
			gives:  Sizes{}, serve: (*API).sizes},
	}, pastTable()...)
}

func (a *API) recipes(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	under, after, limit := q.text("under", "/"), q.text("after", ""), q.limit()
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Recipes, error) { return a.o.Server.Recipes(v.Actor, under, after, limit) })
}

func (a *API) sizes(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path := q.text("path", "/")
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Sizes, error) { return a.o.Server.Sizes(v.Actor, path) })
}
