package api

import "slices"

var underParam = param{name: "under", about: "path of the znode below which is looked; / if it is not given"}

func viewsTable() []*route {
	return append([]*route{
		{name: "ensembles", about: "The ensembles of warren.console.ensembles, as their servers describe themselves.",
			gives: Ensembles{}, serve: (*API).ensembles},
		{name: "recipes", about: "Locks, elections, semaphores, barriers, queues, services and groups, decoded. " +
			"Each request looks at a bounded part of the tree.",
			params: []param{underParam, limitParam,
				{name: "after", about: "where the answer before this one has stopped"}},
			gives: Recipes{}, serve: reads(recipes)},
		{name: "sizes", about: "What the subtrees of a znode hold. A large tree is counted by many requests: ask " +
			"while it runs.",
			params: []param{{name: "path", about: "path of a znode; / if it is not given"},
				{name: "since", number: true, about: "growth is counted from the last count before this time, ms " +
					"since 1970; from the oldest that is kept if it is not given"}},
			gives: Sizes{}, serve: reads(sizes)},
		{name: "watchers", about: "The clients that watch a znode, by watches of it and by recursive ones above it.",
			params: []param{pathParam}, gives: Watchers{}, serve: asksOthers(ofPath(Server.Watchers))},
	}, slices.Concat(pastTable(), trendTable(), behindTable(), laidTable(), supportTable())...)
}

func recipes(q *query) func(Server) (*Recipes, error) {
	under, after, limit := q.text("under", "/"), q.text("after", ""), q.limit()
	return func(s Server) (*Recipes, error) { return s.Recipes(q.Actor, under, after, limit) }
}

func sizes(q *query) func(Server) (*Sizes, error) {
	path, since := q.text("path", "/"), q.number("since", 0)
	return func(s Server) (*Sizes, error) { return s.Sizes(q.Actor, path, since) }
}
