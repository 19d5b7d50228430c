package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/orders"
)

// Root is the path below which the API is served.
const Root = "/api/v1"

// Bounds for one visitor, and for all of them together.
const (
	// workersMax is how many requests ask the server at once, askersMax how many for which it asks the other servers,
	// and changesMax how many change it; others wait. Another server may not answer, and a change waits for a quorum:
	// neither must keep those waiting that only look.
	workersMax, askersMax, changesMax = 4, 4, 4
	// pageMax is how many entries a page has at most, and pageUsual if the request does not tell.
	pageMax, pageUsual = 1000, 100
	// DataMax is how many bytes of the data of a znode an answer has.
	DataMax = 1 << 20
	// bodyMore is how many bytes a request may have beside the data that a znode may have.
	bodyMore = 64 << 10
	// CredentialsBody is how many bytes the body of a login has: of a visitor that has not proved anything.
	CredentialsBody = 16 << 10
	// pathMax bounds paths and words in requests.
	pathMax = 8 << 10
	// answerTimeout is how long a visitor may take for an answer, or for a part of one that goes on.
	answerTimeout = 30 * time.Second
)

// Options configure an API.
type Options struct {
	Server Server
	// Orders carries out the orders of operators.
	Orders *orders.Executor
	// Log receives logins, refusals and changes: it should bound how much a visitor can make it write. nil drops them.
	Log *zap.Logger
	// Remote returns the address of a visitor; nil takes the address of the connection.
	Remote func(*http.Request) netip.Addr
	// Writes allows changes.
	Writes bool
	// Links allows links that show znodes without a login.
	Links bool
	// Ensembles are other ensembles, as name=address of the admin port of one of their servers.
	Ensembles []string
	// Metrics serves the metrics, for support bundles; nil leaves them out.
	Metrics http.Handler
	// RequestMax is the largest request that the server takes, jute.maxbuffer.
	RequestMax int
	// Guesses counts the wrong guesses of passwords at every door of the server; nil counts those of this one.
	Guesses *limits.Attempts
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// API answers requests below Root. Its methods may be called by any number of goroutines.
type API struct {
	o             Options
	routes        map[string]map[string]*route // by path and method
	logins        logins
	streams       streams
	workers       places
	askers        places
	changers      places
	bundling      places            // of support bundles
	passing       map[string]*route // those that are passed on, by name
	passes        places            // of requests that other servers answer
	passedChanges places
	cookie        string // its name
	others        *others
	links         links
	linkCookie    string // the name of the cookie of a link
	origins       *http.CrossOriginProtection
}

// New returns an API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, zap.NewNop())
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Guesses = cmp.Or(o.Guesses, limits.NewGuesses())
	if o.Remote == nil {
		o.Remote = func(r *http.Request) netip.Addr {
			addr, _ := netip.ParseAddrPort(r.RemoteAddr)
			return addr.Addr().Unmap()
		}
	}
	a := &API{o: o, routes: map[string]map[string]*route{}, workers: make(places, workersMax),
		askers:   make(places, askersMax),
		changers: make(places, changesMax), bundling: make(places, 1), passing: map[string]*route{},
		passes: make(places, passesMax), passedChanges: make(places, passesMax),
		origins: http.NewCrossOriginProtection(), cookie: cookiePrefix + secret()[:8]}
	a.links.mu.live, a.linkCookie = map[loginKey]*Link{}, linkCookie+secret()[:8]
	a.others = newOthers(o.Ensembles)
	a.logins.mu.live = map[loginKey]*login{}
	a.streams.begun = limits.NewAttempts(streamsInARow, streamEvery)
	a.streams.begunByAll = limits.NewAttempts(streamsInARowAll, streamEveryAll)
	a.streams.mu.open = map[netip.Addr]int{}
	for _, r := range allRoutes() {
		if a.routes[r.path] == nil {
			a.routes[r.path] = map[string]*route{}
		}
		a.routes[r.path][r.method] = r
		if r.passes {
			a.passing[r.name] = r
		}
	}
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	Guard(w)
	methods := a.routes[strings.TrimPrefix(r.URL.Path, Root)]
	if methods == nil {
		Refuse(w, refusal(http.StatusNotFound, "there is no such resource; "+Root+"/openapi.json lists all"))
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	found := methods[method]
	if found == nil {
		w.Header().Set("Allow", allowed(methods))
		Refuse(w, refusal(http.StatusMethodNotAllowed, "this resource does not take "+r.Method))
		return
	}
	v, err := a.Visitor(w, r)
	if err == nil && found.changes {
		err = a.mayChange(r, v, r.Header.Get("X-Warren-Token"))
	}
	isPassed := false
	if err == nil && found.passes {
		isPassed, err = a.pass(w, r, v, found)
	}
	if err == nil && !isPassed {
		err = found.serve(a, w, r, v)
	}
	if err != nil {
		Refuse(w, err)
	}
}

// Guard sets the headers that keep an answer away from other sites, frames and caches.
func Guard(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // some writers have no deadline
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// Ask runs fn when fewer than workersMax requests ask the server. It returns an error if the visitor does not wait.
func Ask[T any](a *API, r *http.Request, fn func() (T, error)) (T, error) {
	return using(a.workers, r, fn)
}

// places are held by requests while they ask the server; nil has one for each.
type places chan struct{}

// using runs fn when there is a place. It returns an error if the visitor does not wait.
func using[T any](p places, r *http.Request, fn func() (T, error)) (none T, err error) {
	if p != nil {
		select {
		case p <- struct{}{}:
			defer func() { <-p }()
		case <-r.Context().Done():
			return none, r.Context().Err()
		}
	}
	return fn()
}

// Server returns the server that is shown.
func (a *API) Server() Server { return a.o.Server }

// retryAfter is the header that says in how many seconds a request may be made again.
const retryAfter = "Retry-After"

func refusal(status int, text string) error { return &Refusal{Status: status, Text: text} }

// Refuse answers with a problem, by RFC 9457.
func Refuse(w http.ResponseWriter, err error) {
	t := TroubleOf(err)
	if t.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `digest realm="user:password in plain text, as addauth"`)
	}
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.After > 0 {
		w.Header().Set(retryAfter, strconv.Itoa(int((refused.After+time.Second-1)/time.Second)))
	}
	write(w, t.Status, "application/problem+json", t)
}

// answer writes a record as JSON.
func answer(w http.ResponseWriter, record any) error {
	write(w, http.StatusOK, "application/json", record)
	return nil
}

func write(w http.ResponseWriter, status int, kind string, record any) {
	text, err := json.Marshal(record) // escapes what HTML would take for its own
	if err != nil {
		panic("api: a record of this package cannot be written: " + err.Error())
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // the server may have taken long
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the visitor may have gone
}
