package api

import (
	"net/http"
	"slices"
)

// Views are the parts of a Server that explain an ensemble. Their bounds are those of the server.
type Views interface {
	pastViews
	trendViews
	watcherViews
	// Shared notes in the audit log that the actor has made a link to a path.
	Shared(a Actor, path string)
	// Recipes looks for znodes below a path by which programs coordinate, and says what they mean. after is where an
	// earlier search has stopped.
	Recipes(a Actor, under, after string, limit int) (*Recipes, error)
	// Sizes returns what the subtrees of a znode hold, as far as it was counted. Each call counts for a moment.
	Sizes(a Actor, path string) (*Sizes, error)
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

// Sizes are what the subtrees of a znode hold.
type Sizes struct {
	Path     string   `json:"path" doc:"of the znode"`
	Counted  int64    `json:"counted" doc:"when this was complete, ms since 1970; 0 if it has not been counted yet"`
	Missed   bool     `json:"missed" doc:"the tree has changed while it was counted, so that znodes may be missing"`
	Running  bool     `json:"running" doc:"it is being counted again: each request goes on for a moment"`
	Progress float64  `json:"progress" doc:"how much of that is done, as far as it can be told: 0 to 1"`
	Whole    SizePart `json:"whole" doc:"the znode with all below it, two levels deep"`
}

// SizePart is a znode with all below it that the visitor may read.
type SizePart struct {
	Path   string     `json:"path" doc:"of the znode"`
	Znodes int64      `json:"znodes" doc:"number of znodes"`
	Bytes  int64      `json:"bytes" doc:"of paths and data"`
	Writes float64    `json:"writes" doc:"a second: each znode written in the last hour counts with its mean since it was created"`
	Parts  []SizePart `json:"parts" doc:"its largest children, at most 60"`
	Others int        `json:"others" doc:"number of children that are not in parts"`
}

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
	}, slices.Concat(pastTable(), trendTable(), watcherTable(), laidTable())...)
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
