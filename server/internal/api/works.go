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

func worksTable() []*route {
	return []*route{
		{method: "POST", path: "/work/plan", name: "plan", takes: Work{}, gives: Plan{}, changes: true,
			about: "Says what a change of many znodes would do.", serve: takes((*API).plan)},
		{method: "POST", path: "/work", name: "work", takes: Work{}, gives: Carried{}, changes: true,
			about: "Does a change of many znodes, if its plan is still the one with the seal.",
			serve: takes((*API).work)},
		{name: "export", about: "The znodes at and below a path, ephemerals left out; 403 if the visitor may not " +
			"read one.", params: []param{pathParam}, gives: Document{}, serve: reads(ofPath(Server.Export))},
		{name: "quota", about: "The quota of a znode.", params: []param{pathParam}, gives: Quota{},
			serve: reads(ofPath(Server.Quota))},
		{name: "history", about: "The former versions of a znode, from the files of this server. It needs a login.",
			params: []param{pathParam}, gives: History{}, serve: waits(history)},
		{name: "version", about: "A former version of a znode with its data. It needs a login.",
			params: []param{pathParam, {name: "zxid", about: "of the version, as history tells it", required: true}},
			gives:  Former{}, serve: waits(version)},
	}
}

func (a *API) plan(r *http.Request, v *Visitor, w Work) (*Plan, error) {
	return Ask(a, r, func() (*Plan, error) { return a.o.Server.Plan(v.Actor, w) })
}

// work does a work for a visitor, which mayChange has allowed. Each work gets a line in the log, and each of its
// multis one in the audit log.
func (a *API) work(r *http.Request, v *Visitor, w Work) (*Carried, error) {
	done, err := using(a.changers, r, func() (*Carried, error) {
		return a.o.Server.Carry(r.Context(), v.Actor, w, w.Seal)
	})
	a.o.Log.Info("many znodes changed in the console", zap.Stringer("client_addr", v.Remote),
		zap.String("user", v.User), zap.String("kind", w.Kind[:min(len(w.Kind), 16)]),
		zap.String("path", w.Path[:min(len(w.Path), pathMax)]), zap.String("to", w.To[:min(len(w.To), pathMax)]),
		zap.Error(err))
	return done, err
}

func history(q *query) func(Server) (*History, error) {
	path := q.path()
	if q.User == "" {
		q.fail(errHistoryNeedsLogin)
	}
	return func(s Server) (*History, error) { return s.History(q.ctx, q.Actor, path) }
}

func version(q *query) func(Server) (Former, error) {
	read, zxid := history(q), q.text("zxid", "")
	return func(s Server) (f Former, err error) {
		h, err := read(s)
		if err != nil {
			return f, err
		}
		at, err := h.Find(zxid)
		if err != nil {
			return f, err
		}
		z := Znode{Raw: h.Versions[at].Raw}
		z.Encode()
		return Former{Version: h.Versions[at], Encoding: z.Encoding, Data: z.Data}, nil
	}
}
