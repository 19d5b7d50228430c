package api

import (
	"net/http"

	"go.uber.org/zap"
)

// Works are changes of many znodes. Each has a plan, which is shown first; it is done only as long as the plan is what
// it was.

// Former is a znode as a txn has left it.
type Former struct {
	Version  Version `json:"version" doc:"the change"`
	Encoding string  `json:"encoding" doc:"utf-8 or base64: how data is written here"`
	Data     *string `json:"data" doc:"null if it had none"`
}

var errHistoryNeedsLogin = refusal(http.StatusUnauthorized,
	"a history needs a login, because it takes the server much reading")

// worksTable are the routes of works.
func worksTable() []*route {
	return []*route{
		{method: "POST", path: "/work/plan", name: "plan", takes: Work{}, gives: Plan{}, changes: true,
			about: "Says what a change of many znodes would do.", serve: (*API).plan},
		{method: "POST", path: "/work", name: "work", takes: Work{}, gives: Carried{}, changes: true,
			about: "Does a change of many znodes, if its plan is still the one with the seal.", serve: (*API).work},
		{method: "GET", path: "/export", name: "export", params: []param{pathParam}, gives: Document{},
			about: "The znodes at and below a path that the visitor may read, ephemerals left out.",
			serve: reads(export)},
		{method: "GET", path: "/quota", name: "quota", params: []param{pathParam}, gives: Quota{},
			about: "The quota of a znode.", serve: reads(quota)},
		{method: "GET", path: "/history", name: "history", params: []param{pathParam}, gives: History{},
			about: "The former versions of a znode, from the files of this server. It needs a login.",
			serve: (*API).history},
		{method: "GET", path: "/version", name: "version", gives: Former{},
			params: []param{pathParam, {name: "zxid", about: "of the version, as history tells it", required: true}},
			about:  "A former version of a znode with its data. It needs a login.", serve: (*API).version},
	}
}

func (a *API) plan(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	var work Work
	if err := a.body(w, r, &work, a.BodyMax()); err != nil {
		return err
	}
	return ask(a, w, r, func() (*Plan, error) { return a.o.Server.Plan(v.Actor, work) })
}

func (a *API) work(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	var work Work
	if err := a.body(w, r, &work, a.BodyMax()); err != nil {
		return err
	}
	done, err := a.Carry(r, v, work)
	if err != nil {
		return err
	}
	return answer(w, done)
}

// Carry does a work for a visitor, which MayChange has allowed. Each work gets a line in the log, and each of its
// multis one in the audit log.
func (a *API) Carry(r *http.Request, v *Visitor, w Work) (done *Carried, err error) {
	err = a.changers.use(r, func() error {
		done, err = a.o.Server.Carry(r.Context(), v.Actor, w, w.Seal)
		return err
	})
	a.o.Log.Info("many znodes changed in the console", zap.Stringer("client_addr", v.Remote),
		zap.String("user", v.User), zap.String("kind", w.Kind[:min(len(w.Kind), 16)]),
		zap.String("path", w.Path[:min(len(w.Path), pathMax)]), zap.String("to", w.To[:min(len(w.To), pathMax)]),
		zap.Error(err))
	return done, err
}

func export(q *query, a Actor) func(Server) (*Document, error) {
	path := q.text("path", "")
	return func(s Server) (*Document, error) { return s.Export(a, path) }
}

func quota(q *query, a Actor) func(Server) (*Quota, error) {
	path := q.text("path", "")
	return func(s Server) (*Quota, error) { return s.Quota(a, path) }
}

// History returns the history of a znode to a visitor with a login.
func (a *API) History(r *http.Request, v *Visitor, path string) (h *History, err error) {
	if v.User == "" {
		return nil, errHistoryNeedsLogin
	}
	err = a.Work(r, func() error {
		h, err = a.o.Server.History(r.Context(), v.Actor, path)
		return err
	})
	return h, err
}

func (a *API) history(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path := q.text("path", "")
	if q.err != nil {
		return q.err
	}
	h, err := a.History(r, v, path)
	if err != nil {
		return err
	}
	return answer(w, h)
}

func (a *API) version(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path, zxid := q.text("path", ""), q.text("zxid", "")
	if q.err != nil {
		return q.err
	}
	h, err := a.History(r, v, path)
	if err != nil {
		return err
	}
	at, err := h.Find(zxid)
	if err != nil {
		return err
	}
	z := Znode{Raw: h.Versions[at].Raw}
	z.Encode()
	return answer(w, Former{Version: h.Versions[at], Encoding: z.Encoding, Data: z.Data})
}
