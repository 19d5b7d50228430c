package api

import (
	"net/http"
	"slices"
)

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
		{name: "servers", about: "What the servers of the configuration answer at their client ports.",
			gives: Servers{}, serve: waits(servers)},
	}, slices.Concat(pastTable(), laidTable(), perServer(
		&route{name: "activity", about: "How many reads and writes a znode has had at a server since it was first " +
			"asked for, for ten minutes. It needs a login.",
			params: []param{pathParam}, gives: Activity{}, may: mustHaveLogin, serve: reads(activity)},
		&route{name: "trends", about: "The figures of a server over time, at a resolution that falls with the age, " +
			"and what happened to it. At least a day is kept, in memory.",
			params: []param{{name: "from", about: "ms since 1970; 0 if it is not given", number: true}},
			gives:  Trends{}, serve: reads(trends)},
		&route{name: "audit", about: "The newest lines of the audit log of a server, for visitors that may see all.",
			params: []param{limitParam}, gives: Audit{}, may: mustSeeAll, serve: reads(newest(Server.Audit))},
		&route{name: "backups", about: "The snapshots on the disk of a server, and what the folders of " +
			"warren.console.backups hold, for visitors that may see all.",
			gives: Backups{}, may: mustSeeAll, serve: reads(backups)},
		&route{name: "verification", about: "Reads the files of a backup and compares them with the checksums in " +
			"its manifest: one request begins, others tell how far that is. For visitors that may see all.",
			params: []param{{name: "folder", about: "as warren.console.backups names it", required: true},
				{name: "begin", about: "1 begins a check, unless one goes on", number: true}},
			gives: Verification{}, may: mustSeeAll, serve: reads(verification)},
		&route{name: "support", about: "What a bug report needs, as a tar archive packed by gzip, for visitors that " +
			"may see all. Secrets and data of znodes are not in it.",
			params: []param{{name: "all", number: true,
				about: "1 for all servers of the ensemble, a folder for each"}},
			kind: "application/gzip", may: mustSeeAll, serve: (*API).support}))...)
}

func recipes(q *query) func(Server) (*Recipes, error) {
	under, after, limit := q.text("under", "/"), q.text("after", ""), q.limit()
	return func(s Server) (*Recipes, error) { return s.Recipes(q.Actor, under, after, limit) }
}

func sizes(q *query) func(Server) (*Sizes, error) {
	path, since := q.text("path", "/"), q.number("since", 0)
	return func(s Server) (*Sizes, error) { return s.Sizes(q.Actor, path, since) }
}

func trends(q *query) func(Server) (*Trends, error) {
	from := q.number("from", 0)
	return func(s Server) (*Trends, error) { return s.Trends(from), nil }
}

func servers(*query) func(Server) (*Servers, error) {
	return func(s Server) (*Servers, error) { return s.Servers(), nil }
}

func mustHaveLogin(_ *API, v *Visitor) error {
	if v.User == "" {
		return refusal(http.StatusUnauthorized,
			"the activity of a znode needs a login, because the server counts for it")
	}
	return nil
}

func activity(q *query) func(Server) (*Activity, error) {
	path := q.path()
	q.fail(mustHaveLogin(nil, q.Visitor))
	return func(s Server) (*Activity, error) { return s.Activity(q.Actor, path) }
}

func verification(q *query) func(Server) (*Verification, error) {
	folder, begin := q.text("folder", ""), q.number("begin", 0) != 0
	return func(s Server) (*Verification, error) { return s.VerifyBackup(q.Actor, folder, begin) }
}

func backups(q *query) func(Server) (*Backups, error) {
	return func(s Server) (*Backups, error) { return s.Backups(q.Actor) }
}
