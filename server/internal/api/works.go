package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
)

// Works are changes of many znodes. Each has a plan, which is shown first; it is done only as long as the plan is what
// it was.

// Subtrees is what a Server does with many znodes, and with the former versions of one.
type Subtrees interface {
	// Plan says what a work would do. It changes nothing.
	Plan(a Actor, w Work) (*Plan, error)
	// Carry does a work whose plan has this seal now. The error is ErrChanged if the plan is another one.
	Carry(ctx context.Context, a Actor, w Work, seal string) (*Carried, error)
	// Export returns the znodes at and below a path.
	Export(a Actor, path string) (*Document, error)
	// Quota returns the quota of a znode, and what is used of it.
	Quota(a Actor, path string) (*Quota, error)
	// History returns what the files of this server tell of a znode.
	History(ctx context.Context, a Actor, path string) (*History, error)
}

// Work is a change of many znodes, and the request for its plan.
type Work struct {
	Kind     string    `json:"kind" doc:"delete, copy, move, import or quota"`
	Path     string    `json:"path" doc:"of the znode with which the work begins; of an import, where its root will be"`
	To       string    `json:"to" doc:"path of the copy"`
	Document *Document `json:"document" doc:"what is imported"`
	Limits   *Limits   `json:"limits" doc:"of the quota; all of them -1 removes it"`
	Seal     string    `json:"seal" doc:"of the plan that is confirmed"`
}

// Plan is what a work would do.
type Plan struct {
	Znodes     int       `json:"znodes" doc:"that would be created, deleted or set"`
	Bytes      int64     `json:"bytes" doc:"of their data"`
	Paths      []string  `json:"paths" doc:"of the first 100 of them"`
	Ephemerals []string  `json:"ephemerals" doc:"of the first 100 ephemeral ones: a delete takes them, a copy leaves them out"`
	Sessions   []string  `json:"sessions" doc:"which own these"`
	Refused    []Refused `json:"refused" doc:"why the work cannot be done; the first 100 reasons"`
	Batches    int       `json:"batches" doc:"multis that the work takes; with more than one it is not atomic"`
	Seal       string    `json:"seal" doc:"names this plan and the versions of all its znodes"`
}

// Refused is a reason against a plan.
type Refused struct {
	Path string `json:"path" doc:"of the znode"`
	Why  string `json:"why" doc:"what is in the way"`
}

// Carried is a work that was done.
type Carried struct {
	Znodes int `json:"znodes" doc:"that were created, deleted or set"`
}

// Limits are those of a quota; -1 stands for none.
type Limits struct {
	Count     int64 `json:"count" doc:"znodes, the one with the quota included; more are logged"`
	Bytes     int64 `json:"bytes" doc:"of data; more are logged"`
	CountHard int64 `json:"countHard" doc:"znodes; more are refused if enforceQuota is set"`
	BytesHard int64 `json:"bytesHard" doc:"of data; more are refused if enforceQuota is set"`
}

// Quota is the quota of a znode.
type Quota struct {
	Limits    Limits `json:"limits" doc:"all -1 without a quota"`
	UsedCount int64  `json:"usedCount" doc:"znodes; -1 without a quota"`
	UsedBytes int64  `json:"usedBytes" doc:"of data; -1 without a quota"`
	Enforced  bool   `json:"enforced" doc:"this server enforces hard limits"`
}

// Document is an export, in the format of warren shell.
type Document struct {
	Version int             `json:"warrenExport" doc:"1"`
	Root    string          `json:"root" doc:"path of the first znode"`
	Znodes  []DocumentZnode `json:"znodes" doc:"parents before their children"`
}

// DocumentZnode is one znode of an export.
type DocumentZnode struct {
	Path   string  `json:"path" doc:"below the root; empty for the root"`
	Data   *string `json:"data,omitempty" doc:"if it is UTF-8"`
	Base64 *string `json:"base64,omitempty" doc:"data that is not; without both it is null"`
	Kind   string  `json:"kind,omitempty" doc:"container or ttl; empty for persistent"`
	TTL    int64   `json:"ttl,omitempty" doc:"ms"`
	ACL    []ACL   `json:"acl,omitempty" doc:"without it world:anyone:cdrwa"`
}

// SetContent sets the data.
func (z *DocumentZnode) SetContent(data []byte) {
	text := string(data)
	switch {
	case data == nil:
	case utf8.ValidString(text):
		z.Data = &text
	default:
		text = base64.StdEncoding.EncodeToString(data)
		z.Base64 = &text
	}
}

// Content returns the data, nil for null.
func (z *DocumentZnode) Content() ([]byte, error) {
	switch {
	case z.Data != nil && z.Base64 != nil:
		return nil, refusal(http.StatusBadRequest, "a znode of the document has both data and base64")
	case z.Data != nil:
		return []byte(*z.Data), nil
	case z.Base64 != nil:
		return decode("base64", *z.Base64)
	}
	return nil, nil
}

// Check refuses a document that cannot be created as it stands, or has more than most znodes. It does not know which
// paths are valid.
func (d *Document) Check(most int) error {
	wrong := func(why string) error { return refusal(http.StatusBadRequest, "the document cannot be imported: "+why) }
	switch {
	case d == nil || d.Version != 1 || len(d.Znodes) == 0:
		return wrong("it is no export of version 1, or is empty")
	case len(d.Znodes) > most:
		return refusal(http.StatusRequestEntityTooLarge, "the document has too many znodes: use warren shell")
	}
	seen := make(map[string]bool, len(d.Znodes))
	for i := range d.Znodes {
		z := &d.Znodes[i]
		slash := strings.LastIndexByte(z.Path, '/')
		switch {
		case seen[z.Path] || (i == 0) != (z.Path == ""):
			return wrong("its root is not first, or a znode is there twice")
		case i > 0 && (slash < 0 || !seen[z.Path[:slash]]):
			return wrong("a znode comes before its parent")
		case z.Kind == "ttl" && (z.TTL < 1 || z.TTL > proto.MaxTTL), z.Kind != "ttl" && z.TTL != 0:
			return wrong("a ttl is 1 to 1099511627775 ms, of a znode of kind ttl")
		case z.Kind != "" && z.Kind != "persistent" && z.Kind != "container" && z.Kind != "ttl":
			return wrong("a znode has a kind that is not known")
		}
		if _, err := z.Content(); err != nil {
			return err
		}
		seen[z.Path] = true
	}
	return nil
}

// History is what the log and the snapshots of one server tell of a znode.
type History struct {
	Path     string    `json:"path" doc:"of the znode"`
	Versions []Version `json:"versions" doc:"the newest first"`
	From     string    `json:"from" doc:"first txn that was looked at, hexadecimal; empty if there is none"`
	Cut      bool      `json:"cut" doc:"there are older files or versions that were not read"`
	Hidden   int       `json:"hidden" doc:"versions that the visitor may not see, or of which this is not certain"`
}

// Version is one change of a znode.
type Version struct {
	Kind    string `json:"kind" doc:"created, changed, deleted, permissions, or found: as a snapshot has it"`
	Zxid    string `json:"zxid" doc:"the txn, hexadecimal"`
	At      int64  `json:"at" doc:"clock of the leader, ms since 1970"`
	Session string `json:"session" doc:"that asked for it, as in sessions; empty if it is not known, or the servers' own"`
	Version int32  `json:"version" doc:"of the data; -1 if it is not known"`
	Size    int    `json:"size" doc:"bytes of the data"`
	HasData bool   `json:"hasData" doc:"its data is at hand, by version"`
	Raw     []byte `json:"-"`
}

// Former is a znode as a txn has left it.
type Former struct {
	Version  Version `json:"version" doc:"the change"`
	Encoding string  `json:"encoding" doc:"utf-8 or base64: how data is written here"`
	Data     *string `json:"data" doc:"null if it had none"`
}

// ErrChanged means that a plan that was confirmed is not what would be done now.
var ErrChanged = refusal(http.StatusConflict,
	"the znodes have changed since the preview, so that nothing was done: look at the preview again")

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
			serve: (*API).export},
		{method: "GET", path: "/quota", name: "quota", params: []param{pathParam}, gives: Quota{},
			about: "The quota of a znode.", serve: (*API).quota},
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
	a.o.Log.Info("change of many znodes by the console", zap.Stringer("client_addr", v.Remote),
		zap.String("user", v.User), zap.String("kind", w.Kind[:min(len(w.Kind), 16)]),
		zap.String("path", w.Path[:min(len(w.Path), pathMax)]), zap.String("to", w.To[:min(len(w.To), pathMax)]),
		zap.Error(err))
	return done, err
}

func (a *API) export(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path := q.text("path", "")
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Document, error) { return a.o.Server.Export(v.Actor, path) })
}

func (a *API) quota(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path := q.text("path", "")
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Quota, error) { return a.o.Server.Quota(v.Actor, path) })
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

// Find returns the version that a txn has made. A multi may have made several: the last one counts.
func (h *History) Find(zxid string) (at int, err error) {
	for i := range h.Versions {
		if h.Versions[i].Zxid == zxid {
			if !h.Versions[i].HasData {
				return i, refusal(http.StatusGone, "this version has no data that is still at hand")
			}
			return i, nil
		}
	}
	return 0, refusal(http.StatusNotFound, "the files of this server have no such version of the znode")
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
	z.encode()
	return answer(w, Former{Version: h.Versions[at], Encoding: z.Encoding, Data: z.Data})
}
