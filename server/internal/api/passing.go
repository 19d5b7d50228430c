package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"
)

// Some resources are those of one server: its figures, its settings, its audit log, orders to it. The parameter server
// names another one of the ensemble. Such a request is checked here as far as it can be, passed on, and checked there
// again: ACLs, the setting warren.console.writes and the limits of orders are those of the server that is meant.

// serverParam is a parameter of every resource that is passed on.
var serverParam = param{name: "server", number: true,
	about: "myid of the server that is meant; the one that is asked if it is not given"}

// Bounds of passing requests on: how many are under way, and as many that change something; how long another server
// may take for an answer, and for a change; and how many bytes an answer has.
const (
	passesMax           = 4
	passWait, orderWait = 10 * time.Second, 65 * time.Second
	passedMax           = 5 << 20
)

// perServer makes routes those of a server that the request names.
func perServer(all ...*route) []*route {
	for _, r := range all {
		r.passes, r.params = true, append(r.params, serverParam)
	}
	return all
}

// pass lets another server answer a request, if it is meant. It reports whether it was.
func (a *API) pass(w http.ResponseWriter, r *http.Request, v *Visitor, to *route) (bool, error) {
	q := queryOf(r, v)
	if q.err != nil || !q.values.Has("server") {
		return false, nil // the resource looks at the others itself
	}
	id := q.number("server", 0)
	if q.err != nil {
		return true, q.err
	}
	if id == a.o.Server.ID() {
		return false, nil
	}
	if to.may != nil {
		if err := to.may(a, v); err != nil {
			return true, err
		}
	}
	t := Task{Name: to.name, User: v.User, IDs: v.IDs, Remote: v.Remote}
	q.values.Del("server")
	t.Query = q.values.Encode()
	if to.takes != nil {
		body, err := a.bytesOf(w, r, CredentialsBody)
		if err != nil {
			return true, err
		}
		t.Body = body
	}
	answer, err := a.passTo(r, v, id, to, t)
	if err != nil {
		return true, err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // the other may have taken long
	kind := cmp.Or(to.kind, "application/json")
	if answer.Status != http.StatusOK {
		kind = "application/problem+json"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	if answer.RetryAfter != "" {
		w.Header().Set(retryAfter, answer.RetryAfter)
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // the visitor may have gone
	return true, nil
}

// passTo passes a request on. One that changes something goes on when its visitor goes away, and gets a line in the
// log.
func (a *API) passTo(r *http.Request, v *Visitor, id int64, to *route, t Task) (*TaskAnswer, error) {
	ctx, places, wait := r.Context(), a.passes, passWait
	if to.changes {
		ctx, places, wait = context.WithoutCancel(ctx), a.passedChanges, orderWait
	}
	done, err := using(places, r, func() (*TaskAnswer, error) {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return a.o.Server.Pass(ctx, id, t)
	})
	if err == nil && (done.Status < 200 || done.Status > 599) {
		err = refusal(http.StatusBadGateway, fmt.Sprintf("the answer of server %d cannot be read", id))
	}
	if to.changes {
		status := 0
		if err == nil {
			status = done.Status
		}
		a.o.Log.Info("order of a visitor passed on to another server", zap.Int64("server", id),
			zap.String("command", to.name), zap.ByteString("request", t.Body), zap.Stringer("client_addr", v.Remote),
			zap.String("user", v.User), zap.Int("status", status), zap.Error(err))
	}
	return done, err
}

// Passed answers a request that another server has passed on.
func (a *API) Passed(ctx context.Context, from int64, t *Task) *TaskAnswer {
	w := &passed{header: http.Header{}, status: http.StatusOK}
	if err := a.answerPassed(ctx, w, from, t); err != nil {
		Refuse(w, err)
	}
	if w.over {
		w = &passed{header: http.Header{}}
		Refuse(w, refusal(http.StatusInsufficientStorage, "the answer is too long for another server: ask this one"))
	}
	return &TaskAnswer{Status: w.status, Body: w.body.Bytes(), RetryAfter: w.header.Get(retryAfter)}
}

func (a *API) answerPassed(ctx context.Context, w http.ResponseWriter, from int64, t *Task) error {
	to := a.passing[t.Name]
	if to == nil {
		return refusal(http.StatusNotFound, "it has no such resource")
	}
	v := &Visitor{Actor: Actor{IDs: t.IDs, Remote: t.Remote}, User: t.User, via: fmt.Sprint("server ", from)}
	if to.changes {
		if err := a.mayTryChanges(v); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, to.method, Root+to.path, bytes.NewReader(t.Body))
	if err != nil {
		return err
	}
	r.URL.RawQuery = t.Query
	r.Header.Set("Content-Type", "application/json")
	return to.serve(a, w, r, v)
}

// passed is an answer in memory: to a request that another server has passed on, or to one of this process.
type passed struct {
	header http.Header
	status int
	body   bytes.Buffer
	over   bool // it is longer than it may be
}

func (p *passed) Header() http.Header    { return p.header }
func (p *passed) WriteHeader(status int) { p.status = status }

// Write implements io.Writer.
func (p *passed) Write(text []byte) (int, error) {
	if p.over = p.over || p.body.Len()+len(text) > passedMax; !p.over {
		p.body.Write(text)
	}
	return len(text), nil
}

// mustSteer returns why a visitor may not steer this server, and so no other one by it.
func mustSteer(a *API, v *Visitor) error {
	if v.User == "" {
		return errSteeringLogin
	}
	return a.o.Server.MaySteer(v.Actor)
}

// mustSeeAll returns why a visitor may not see what is about all users here, and so not elsewhere by this server.
func mustSeeAll(a *API, v *Visitor) error { return a.o.Server.MaySeeAll(v.Actor) }
