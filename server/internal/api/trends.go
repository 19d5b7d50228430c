package api

import "net/http"

func trendTable() []*route {
	return append(perServer(
		&route{name: "activity", about: "How many reads and writes a znode has had at a server since it was first " +
			"asked for, for ten minutes. It needs a login.",
			params: []param{pathParam}, gives: Activity{}, may: mustHaveLogin, serve: reads(activity)},
		&route{name: "trends", about: "The figures of a server over time, at a resolution that falls with the age, " +
			"and what happened to it. At least a day is kept, in memory.",
			params: []param{{name: "from", about: "ms since 1970; 0 if it is not given", number: true}},
			gives:  Trends{}, serve: reads(trends)}),
		&route{name: "servers", about: "What the servers of the configuration answer at their client ports.",
			gives: Servers{}, serve: waits(servers)})
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
