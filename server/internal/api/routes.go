package api

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/inside"
	"github.com/seed94657493/warren/server/internal/visible"
)

// route is one method of one resource. openapi.json is written from the table.
type route struct {
	method, path string // the path is below Root; GET and the name, if they are not given
	name, about  string // operationId and summary
	params       []param
	takes        any    // zero value of the record in the body of the request; nil for none
	gives        any    // zero value of the record in the answer; nil if it is no record
	kind         string // of the answer; empty for JSON
	changes      bool   // it needs a login and the setting warren.console.writes
	passes       bool   // it is passed on to the server that the request names, if may lets the visitor
	may          func(*API, *Visitor) error
	serve        handler
}

type handler func(*API, http.ResponseWriter, *http.Request, *Visitor) error

// param is a parameter in the query.
type param struct {
	name, about string
	number      bool
	required    bool
}

var (
	pathParam  = param{name: "path", about: "path of a znode", required: true}
	limitParam = param{name: "limit", about: "entries of the answer, at most 1000; 100 if it is not given",
		number: true}
)

func allRoutes() []*route {
	all := append(table(), steeringRoutes()...)
	for _, r := range all {
		r.method, r.path = cmp.Or(r.method, http.MethodGet), cmp.Or(r.path, "/"+r.name)
	}
	return all
}

func table() []*route {
	return slices.Concat(worksTable(), viewsTable(), reconfigurationTable(), perServer(
		&route{name: "ensemble", about: "A server and its ensemble, as that server knows it.", gives: Ensemble{},
			serve: (*API).ensemble},
		&route{name: "configuration", about: "The settings of a server.", gives: Configuration{},
			serve: reads(configuration)}), []*route{
		{name: "describe", path: "/openapi.json", about: "This description.", serve: (*API).describe},
		{name: "znode", about: "A znode with its data.", params: []param{pathParam}, gives: Znode{},
			serve: reads(znode)},
		{method: "POST", path: "/znode", name: "create", about: "Creates a znode.", takes: NewZnode{}, gives: Done{},
			changes: true, serve: takes((*API).create)},
		{method: "PUT", path: "/znode", name: "set", about: "Sets the data of a znode.", takes: NewData{},
			gives: Done{}, changes: true, serve: takes((*API).set)},
		{method: "DELETE", path: "/znode", name: "delete", about: "Deletes a znode without children.",
			params: []param{pathParam,
				{name: "version", about: "that the znode must have; -1 for any", number: true, required: true}},
			gives: Done{}, changes: true, serve: (*API).delete},
		{method: "PUT", path: "/acl", name: "setACL", about: "Sets the ACL of a znode.", takes: NewACL{},
			gives: Done{}, changes: true, serve: takes((*API).setACL)},
		{name: "children", about: "A page of the children of a znode.", params: []param{pathParam, limitParam,
			{name: "after", about: "child after which the page begins"}}, gives: Children{}, serve: reads(children)},
		{name: "search", about: "Looks for znodes. Each request does a bounded part of the search.",
			params: []param{{name: "under", about: "path of the znode below which is searched; / if it is not given"},
				{name: "prefix", about: "how the name of a znode begins; exactly one of prefix, contains and " +
					"letters is given"},
				{name: "contains", about: "a part of the path below under, in any case"},
				{name: "letters", about: "letters of the path below under, in this order, with gaps, in any case"},
				limitParam, {name: "after", about: "where the answer before this one has stopped"}},
			gives: Found{}, serve: reads(search)},
		{name: "sessions", about: "A page of the sessions of the ensemble.",
			params: []param{limitParam, {name: "find", about: "a part of the label, or of the address of the client"},
				{name: "after", about: "where the page before this one has ended", number: true}},
			gives: Sessions{}, serve: asksOthers(sessions)},
		{name: "session", about: "A session, with the locks, elections and the like in which it takes part.",
			params: []param{{name: "label", about: "as in sessions", required: true}},
			gives:  SessionDetails{}, serve: asksOthers(session)},
		{name: "top", about: "What causes most of the requests, bytes and time, at all servers together and at each.",
			params: []param{{name: "by", about: "requests, bytes or time; requests if it is not given"}, limitParam},
			gives:  TopOfAll{}, serve: asksOthers(top)},
		{name: "slow", about: "The newest operations of all servers that took long, and where their time went.",
			params: []param{limitParam}, gives: SlowOfAll{}, serve: asksOthers(newest(Server.Slow))},
		{name: "changes", about: "Changes at and below a path, as server-sent events: event change with the record " +
			"Happening; event ready when no later change is missed; event end, with the reason.",
			params: []param{pathParam}, serve: (*API).changes},
		{name: "identity", about: "What this visitor is known as.", gives: Identity{}, serve: (*API).identity},
		{method: "POST", name: "login", about: "Logs in by a cookie.", takes: Credentials{}, gives: Identity{},
			serve: (*API).login},
		{method: "POST", name: "logout", about: "Ends the login of the cookie.", gives: Identity{},
			serve: (*API).logout},
	})
}

func allowed(methods map[string]*route) string {
	all := slices.Sorted(maps.Keys(methods))
	if methods[http.MethodGet] != nil {
		all = append(all, http.MethodHead)
	}
	return strings.Join(all, ", ")
}

//go:embed openapi.json
var description []byte

func (a *API) describe(w http.ResponseWriter, _ *http.Request, _ *Visitor) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(description) // the visitor may have gone
	return nil
}

func (a *API) ensemble(w http.ResponseWriter, _ *http.Request, _ *Visitor) error {
	e := a.o.Server.Ensemble()
	e.Writes = a.o.Writes
	return answer(w, e)
}

// reads makes the handler of a resource that is only read. of takes the parameters, and returns what asks the server;
// it is not asked if one of them is wrong.
func reads[T any](of func(q *query) func(Server) (T, error)) handler {
	return readsIn(func(a *API) places { return a.workers }, of)
}

// asksOthers is reads for what the server asks the other servers.
func asksOthers[T any](of func(q *query) func(Server) (T, error)) handler {
	return readsIn(func(a *API) places { return a.askers }, of)
}

// waits is reads for what has a bound of its own, or waits for other servers: it takes no place of those that ask.
func waits[T any](of func(q *query) func(Server) (T, error)) handler {
	return readsIn(func(*API) places { return nil }, of)
}

func readsIn[T any](in func(*API) places, of func(q *query) func(Server) (T, error)) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request, v *Visitor) error {
		q := queryOf(r, v)
		read := of(q)
		if q.err != nil {
			return q.err
		}
		return ask(in(a), w, r, func() (T, error) { return read(a.o.Server) })
	}
}

// takes makes the handler of a resource that takes a record and answers with another one.
func takes[T, G any](serve func(a *API, r *http.Request, v *Visitor, record T) (G, error)) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request, v *Visitor) error {
		var record T
		if err := a.body(w, r, &record, a.BodyMax()); err != nil {
			return err
		}
		given, err := serve(a, r, v, record)
		if err != nil {
			return err
		}
		return answer(w, given)
	}
}

// ask asks the server, in one of places, and answers with the record that it gives. The answer is written when others
// may ask already: a slow reader must not keep them waiting.
func ask[T any](in places, w http.ResponseWriter, r *http.Request, fn func() (T, error)) error {
	record, err := using(in, r, fn)
	if err != nil {
		return err
	}
	return answer(w, record)
}

// ofPath reads what the server tells of the znode that the request names.
func ofPath[T any](tell func(s Server, a Actor, path string) (T, error)) func(*query) func(Server) (T, error) {
	return func(q *query) func(Server) (T, error) {
		path := q.path()
		return func(s Server) (T, error) { return tell(s, q.Actor, path) }
	}
}

// newest reads as many of the newest entries as the request wants.
func newest[T any](tell func(s Server, a Actor, most int) (T, error)) func(*query) func(Server) (T, error) {
	return func(q *query) func(Server) (T, error) {
		limit := q.limit()
		return func(s Server) (T, error) { return tell(s, q.Actor, limit) }
	}
}

func znode(q *query) func(Server) (*Znode, error) {
	path := q.path()
	return func(s Server) (*Znode, error) {
		z, err := s.Znode(q.Actor, path, DataMax)
		if err == nil {
			z.Encode()
		}
		return z, err
	}
}

func children(q *query) func(Server) (*Children, error) {
	path, after, limit := q.path(), q.text("after", ""), q.limit()
	return func(s Server) (*Children, error) { return s.Children(q.Actor, path, after, limit) }
}

func search(q *query) func(Server) (*Found, error) {
	search := Query{Under: q.text("under", "/"), Prefix: q.text("prefix", ""), Contains: q.text("contains", ""),
		Letters: q.text("letters", ""), After: q.text("after", ""), Limit: q.limit()}
	given := 0
	for _, text := range []string{search.Prefix, search.Contains, search.Letters} {
		given += min(len(text), 1)
	}
	if given != 1 {
		q.refuse("exactly one of prefix, contains and letters is needed")
	}
	return func(s Server) (*Found, error) { return s.Search(q.Actor, search) }
}

func sessions(q *query) func(Server) (*Sessions, error) {
	find, after, limit := q.text("find", ""), q.number("after", 0), q.limit()
	return func(s Server) (*Sessions, error) { return s.Sessions(q.Actor, find, uint64(after), limit) }
}

func session(q *query) func(Server) (*SessionDetails, error) {
	label := q.text("label", "")
	return func(s Server) (*SessionDetails, error) { return s.Session(q.Actor, label) }
}

func top(q *query) func(Server) (*TopOfAll, error) {
	by, limit := q.text("by", "requests"), q.limit()
	if !slices.Contains([]string{"requests", "bytes", "time"}, by) {
		q.refuse("by is requests, bytes or time")
	}
	return func(s Server) (*TopOfAll, error) { return s.Top(q.Actor, by, limit) }
}

func configuration(*query) func(Server) (Configuration, error) {
	return func(s Server) (Configuration, error) { return Configuration{s.Settings()}, nil }
}

func (a *API) identity(w http.ResponseWriter, _ *http.Request, v *Visitor) error {
	return answer(w, a.identityOf(v))
}

func (a *API) create(r *http.Request, v *Visitor, n NewZnode) (d Done, err error) {
	data, err := visible.Decode(n.Encoding, n.Data)
	if err != nil {
		return d, err
	}
	return a.change(r, v, Change{Kind: inside.ChangeCreate, Path: n.Path, Data: data, ACL: n.ACL,
		Sequential: n.Sequential, Container: n.Container, TTL: n.TTL})
}

func (a *API) set(r *http.Request, v *Visitor, n NewData) (d Done, err error) {
	data, err := visible.Decode(n.Encoding, n.Data)
	if err != nil {
		return d, err
	}
	if n.Version == nil {
		return d, errNoVersion
	}
	return a.change(r, v, Change{Kind: inside.ChangeData, Path: n.Path, Data: data, Version: *n.Version})
}

func (a *API) delete(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r, v)
	c := Change{Kind: inside.ChangeDelete, Path: q.path()}
	if version := q.text("version", ""); q.err == nil {
		n, err := strconv.ParseInt(version, 10, 32)
		if err != nil || n < -1 {
			return errNoVersion
		}
		c.Version = int32(n)
	}
	if q.err != nil {
		return q.err
	}
	done, err := a.change(r, v, c)
	if err != nil {
		return err
	}
	return answer(w, done)
}

func (a *API) setACL(r *http.Request, v *Visitor, n NewACL) (d Done, err error) {
	if n.Version == nil {
		return d, errNoVersion
	}
	if n.KeepAdmin && !v.MayAdmin(n.ACL) {
		return d, errLockout
	}
	return a.change(r, v, Change{Kind: inside.ChangeACL, Path: n.Path, ACL: n.ACL, Version: *n.Version})
}

// errLockout is the answer to an ACL without a way back, for a visitor that wants to keep one.
var errLockout = refusal(http.StatusConflict,
	"with these permissions you could not change them again: no entry gives you the permission admin")

var errNoVersion = refusal(http.StatusBadRequest, "version is needed: what the change replaces, or -1 for anything")

// change does a change for a visitor, which mayChange has allowed. Each change gets a line in the log, besides the
// audit log.
func (a *API) change(r *http.Request, v *Visitor, c Change) (done Done, err error) {
	done.Path, err = using(a.changers, r, func() (string, error) {
		return a.o.Server.Change(r.Context(), v.Actor, c)
	})
	a.o.Log.Info("change made in the console", zap.Stringer("client_addr", v.Remote), zap.String("user", v.User),
		zap.Stringer("kind", c.Kind), zap.String("path", c.Path[:min(len(c.Path), pathMax)]), zap.Error(err))
	return done, err
}

// query reads the parameters of a visitor's request. After a mistake err is set. Owned by the goroutine that answers
// the request.
type query struct {
	*Visitor
	ctx    context.Context // of the request
	values url.Values
	err    error
}

func queryOf(r *http.Request, v *Visitor) *query {
	q := &query{Visitor: v, ctx: r.Context()}
	if q.values, q.err = url.ParseQuery(r.URL.RawQuery); q.err != nil {
		q.err = refusal(http.StatusBadRequest, "the query cannot be read")
	}
	return q
}

// fail notes what is wrong, unless something was before.
func (q *query) fail(err error) { q.err = cmp.Or(q.err, err) }

func (q *query) refuse(why string) { q.fail(refusal(http.StatusBadRequest, why)) }

func (q *query) path() string { return q.text("path", "") }

func (q *query) text(name, usual string) string {
	text := q.values.Get(name)
	switch {
	case len(text) > pathMax:
		q.refuse(name + " is too long")
	case (name == "path" || name == "under") && text != "" && text[0] != '/':
		q.refuse(name + " begins with a slash")
	case text == "" && usual == "" && (name == "path" || name == "version" || name == "label"):
		q.refuse(name + " is needed")
	}
	return cmp.Or(text, usual)
}

func (q *query) number(name string, usual int64) int64 {
	text := q.values.Get(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		q.refuse(name + " is no number that can be used here")
	}
	return n
}

func (q *query) limit() int { return int(min(max(q.number("limit", pageUsual), 1), pageMax)) }

// body reads the record of a request of at most most bytes.
func (a *API) body(w http.ResponseWriter, r *http.Request, record any, most int64) error {
	text, err := a.bytesOf(w, r, most)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(record)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows it")
		}
	}
	if err != nil {
		return refusal(http.StatusBadRequest, "the body is not the record that this resource takes: "+err.Error())
	}
	return nil
}

// bytesOf reads the body of a request of at most most bytes, which is JSON.
func (a *API) bytesOf(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	// A page of another site can send a form without being asked for permission, but not this type.
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		return nil, refusal(http.StatusUnsupportedMediaType, "the body is of type application/json")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errTooLarge
	case err != nil:
		return nil, refusal(http.StatusBadRequest, "the body cannot be read")
	}
	return text, nil
}

var errTooLarge = refusal(http.StatusRequestEntityTooLarge,
	"the request is larger than it may be; changes are bounded by jute.maxbuffer")

// BodyMax bounds the body of a request: data in base64, or each byte of it escaped by three in a form.
func (a *API) BodyMax() int64 { return 3*int64(a.o.RequestMax) + bodyMore }
