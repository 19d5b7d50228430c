package api

import (
	"net/http"
)

func trendTable() []*route {
	return append(perServer(
		&route{method: "GET", path: "/activity", name: "activity",
			about: "How many reads and writes a znode has had at a server since it was first asked for, for ten " +
				"minutes. It needs a login.",
			params: []param{pathParam}, gives: Activity{}, may: mustHaveLogin, serve: (*API).activity},
		&route{method: "GET", path: "/trends", name: "trends",
			about: "The figures of a server over time, at a resolution that falls with the age, and what " +
				"happened to it. At least a day is kept, in memory.",
			params: []param{{name: "from", about: "ms since 1970; 0 if it is not given", number: true}},
			gives:  Trends{}, serve: (*API).trends}),
		&route{method: "GET", path: "/servers", name: "servers",
			about: "What the servers of the configuration answer at their client ports.", gives: Servers{},
			serve: (*API).servers})
}

func (a *API) trends(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	q := queryOf(r)
	from := q.number("from", 0)
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Trends, error) { return a.o.Server.Trends(from), nil })
}

// servers does not take a place of those that ask this server: it waits for others.
func (a *API) servers(w http.ResponseWriter, _ *http.Request, _ *Visitor) error {
	return answer(w, a.o.Server.Servers())
}

var errActivityNeedsLogin = refusal(http.StatusUnauthorized,
	"the activity of a znode needs a login, because the server counts for it")

func mustHaveLogin(_ *API, v *Visitor) error {
	if v.User == "" {
		return errActivityNeedsLogin
	}
	return nil
}

func (a *API) activity(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	if err := mustHaveLogin(a, v); err != nil {
		return err
	}
	return reads(func(q *query, actor Actor) func(Server) (*Activity, error) {
		path := q.text("path", "")
		return func(s Server) (*Activity, error) { return s.Activity(actor, path) }
	})(a, w, r, v)
}
