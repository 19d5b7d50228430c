package api

import "net/http"

// Views are the parts of a Server that explain an ensemble. Their bounds are those of the server.
type Views interface {
	// Recipes looks for znodes below a path by which programs coordinate, and says what they mean. after is where an
	// earlier search has stopped.
	Recipes(a Actor, under, after string, limit int) (*Recipes, error)
}

// Recipes are znodes by which programs coordinate.
type Recipes struct {
	Recipes []Recipe `json:"recipes" doc:"what was found"`
	Visited int      `json:"visited" doc:"znodes that were looked at"`
	After   string   `json:"after" doc:"parameter after that goes on from here; empty if the search is over"`
	Missed  bool     `json:"missed" doc:"the tree has changed between two steps, so that znodes may have been missed"`
}

// Recipe is one lock, election, queue or the like.
type Recipe struct {
	Path    string   `json:"path" doc:"of the znode that has the members"`
	Kind    string   `json:"kind" doc:"lock, read/write lock, election, semaphore, barrier, double barrier, queue, items in work, service or group"`
	Layout  string   `json:"layout" doc:"the libraries that write such znodes"`
	Sure    bool     `json:"sure" doc:"the names are those of a recipe; if not, it is a guess"`
	Note    string   `json:"note" doc:"what else is known; may be empty"`
	Total   int      `json:"total" doc:"number of members; of very many only the first are in members"`
	Members []Holder `json:"members" doc:"in the order in which their turn comes"`
}

// Holder is a member of a recipe.
type Holder struct {
	Path    string `json:"path" doc:"of its znode"`
	State   string `json:"state" doc:"holds, waits, leads, inside, closed, queued, taken, offered, disabled or member"`
	Session string `json:"session" doc:"of an ephemeral znode, as in sessions; empty for others"`
	Since   int64  `json:"since" doc:"when the znode was created, ms since 1970; 0 if it is not known"`
	Text    string `json:"text" doc:"the payload, at most 200 characters of it"`
}

var underParam = param{name: "under", about: "path of the znode below which is looked; / if it is not given"}

// viewsTable are the routes of Views.
func viewsTable() []*route {
	return []*route{
		{method: "GET", path: "/recipes", name: "recipes",
			about: "Locks, elections, semaphores, barriers, queues, services and groups, decoded. Each request " +
				"looks at a bounded part of the tree.",
			params: []param{underParam, limitParam,
				{name: "after", about: "where the answer before this one has stopped"}},
			gives: Recipes{}, serve: (*API).recipes},
	}
}

func (a *API) recipes(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	under, after, limit := q.text("under", "/"), q.text("after", ""), q.limit()
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Recipes, error) { return a.o.Server.Recipes(v.Actor, under, after, limit) })
}
