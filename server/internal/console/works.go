package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
	"github.com/seed94657493/warren/server/internal/formats"
)

// The pages of works: changes of many znodes, which are shown before they are done, and of the history of a znode.

// wordsOf are the words for a kind of work: of the heading, of the button, and of what was done.
var wordsOf = map[string][2]string{"delete": {"Delete a subtree", "Delete all of this"},
	"copy": {"Copy", "Copy all of this"}, "move": {"Move", "Move all of this"},
	"import": {"Import", "Import all of this"},
	"quota":  {"Quota", "Set this quota"}}

func badForm(text string) error { return &api.Refusal{Status: http.StatusBadRequest, Text: text} }

// workOf reads a form that asks for a work.
func workOf(f url.Values) (w api.Work, err error) {
	w = api.Work{Kind: f.Get("kind"), To: f.Get("to"), Seal: f.Get("seal")}
	if w.Path, err = pathOf(f); err != nil {
		return w, err
	}
	if _, ok := wordsOf[w.Kind]; !ok || len(w.To) > pathMax {
		return w, badForm("the form asks for nothing that is known")
	}
	switch w.Kind {
	case "import":
		if w.Document, err = documentOf(f.Get("document")); err != nil {
			return w, err
		}
		if name := f.Get("name"); name != "" { // below the znode of the page
			w.Path = joinPath(w.Path, name)
		}
	case "quota":
		w.Limits = &api.Limits{}
		for name, limit := range map[string]*int64{"count": &w.Limits.Count, "bytes": &w.Limits.Bytes,
			"countHard": &w.Limits.CountHard, "bytesHard": &w.Limits.BytesHard} {
			*limit = -1
			if text := strings.TrimSpace(f.Get(name)); text != "" {
				if *limit, err = strconv.ParseInt(text, 10, 64); err != nil || *limit < 0 {
					return w, badForm("a limit is a number, or empty for none")
				}
			}
		}
	}
	return w, nil
}

// documentOf reads an export.
func documentOf(text string) (*api.Document, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	document := &api.Document{}
	if err := d.Decode(document); err != nil {
		return nil, badForm("the document is no export: " + err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badForm("something follows the document")
	}
	return document, nil
}

// preview shows what a work would do.
func (c *Console) preview(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	return c.plan(w, r, v, nil)
}

// plan shows the plan of the work that the form asks for, and why it was not done before.
func (c *Console) plan(w http.ResponseWriter, r *http.Request, v *api.Visitor, refused error) error {
	work, err := c.readWork(w, r, v)
	if err != nil {
		return err
	}
	var p *api.Plan
	if err := c.api.Work(r, func() (err error) {
		p, err = c.api.Server().Plan(v.Actor, work)
		return err
	}); err != nil {
		return c.showTree(w, r, v, url.Values{"path": {r.PostForm.Get("path")}}, err)
	}
	return show(w, frame{title: wordsOf[work.Kind][0], visitor: v, trouble: refused},
		planView(&work, p, v.Token, r.PostForm))
}

func (c *Console) readWork(w http.ResponseWriter, r *http.Request, v *api.Visitor) (work api.Work, err error) {
	if err := c.readForm(w, r, v); err != nil {
		return work, err
	}
	if err := c.api.MayChange(r, v, r.PostForm.Get("token")); err != nil {
		return work, err
	}
	return workOf(r.PostForm)
}

// work does a work that was confirmed, and shows the znode where it was done.
func (c *Console) work(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	work, err := c.readWork(w, r, v)
	if err != nil {
		return err
	}
	if r.PostForm.Get("sure") == "" {
		return c.plan(w, r, v, badForm("to go on, tick the box"))
	}
	if _, err := c.api.Carry(r, v, work); err == api.ErrChanged {
		return c.plan(w, r, v, err)
	} else if err != nil {
		return c.showTree(w, r, v, url.Values{"path": {r.PostForm.Get("path")}}, err)
	}
	next := work.Path
	switch work.Kind {
	case "delete":
		next = path.Dir(next)
	case "copy", "move":
		next = work.To
	}
	return redirect(w, to("tree", "path", next))
}

func planView(w *api.Work, p *api.Plan, token string, f url.Values) g.Node {
	fields := g.Group{hidden("token", token), hidden("seal", p.Seal)}
	for _, name := range []string{"kind", "path", "to", "name", "document", "count", "bytes", "countHard",
		"bytesHard"} {
		if value := f.Get(name); value != "" {
			fields = append(fields, hidden(name, value))
		}
	}
	list := func(id, title string, paths []string) g.Node {
		if len(paths) == 0 {
			return nil
		}
		return section(id, title, h.Ul(h.Class("paths"),
			g.Map(paths, func(text string) g.Node { return h.Li(code(text)) })))
	}
	atomic := "At once: either all of it is done, or nothing."
	if p.Batches > 1 {
		atomic = fmt.Sprintf("In %d parts: if one fails, the parts before it are done.", p.Batches)
	}
	what := g.Group{fact("Of", code(w.Path)), g.If(w.To != "", fact("To", code(w.To))),
		fact("Changes of znodes", h.Span(h.ID("planned"), h.Textf("%d", p.Znodes))),
		g.If(p.Bytes > 0, fact("Data", h.Text(sizeOf(p.Bytes)))), fact("How", h.Text(atomic))}
	refused := g.Node(nil)
	if len(p.Refused) > 0 {
		refused = section("refused", "Why it cannot be done", table("Why it cannot be done", []string{"Znode", "Why"},
			g.Map(p.Refused, func(r api.Refused) g.Node { return h.Tr(h.Td(code(r.Path)), cell(r.Why)) })...))
	}
	confirm := g.Node(nil)
	if len(p.Refused) == 0 {
		confirm = h.Form(h.Method("post"), h.Action("work"), fields,
			box("sure", h.Text("I have looked at what will be changed")),
			h.P(h.Button(g.If(w.Kind == "delete" || w.Kind == "move", h.Class("danger")),
				h.Text(wordsOf[w.Kind][1]))))
	}
	more := ""
	if p.Znodes > len(p.Paths) {
		more = ", the first of them"
	}
	return g.Group{h.Dl(h.Class("facts"), what), refused,
		list("ephemerals", "Ephemeral znodes among them", p.Ephemerals),
		list("owners", "Sessions that own these", p.Sessions), confirm,
		list("changed", "What is changed"+more, p.Paths),
		h.P(link(to("tree", "path", f.Get("path")), "Back, and change nothing"))}
}

// export sends a subtree as a file.
func (c *Console) export(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	p, err := pathOf(r.URL.Query())
	if err != nil {
		return err
	}
	var d *api.Document
	if err := c.api.Work(r, func() (err error) {
		d, err = c.api.Server().Export(v.Actor, p)
		return err
	}); err != nil {
		return err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	if err := e.Encode(d); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="export.json"`)
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	_, _ = w.Write(text.Bytes()) // the visitor may have gone
	return nil
}

// subtreeForms are the forms of the editor that lead to a preview.
func subtreeForms(p *treePage) g.Node {
	form := func(title, kind string, content ...g.Node) g.Node {
		return h.Details(h.Summary(h.Text(title)), h.Form(h.Method("post"), h.Action("preview"),
			hidden("token", p.form.token), hidden("kind", kind), hidden("path", p.path), g.Group(content),
			button("Preview")))
	}
	isRoot := p.path == "/"
	return g.Group{
		g.If(!isRoot, form("Copy it with what is below", "copy",
			field("copyto", "to", "Path of the copy", p.path+"-copy"))),
		g.If(!isRoot, form("Move it with what is below", "move", field("moveto", "to", "New path", p.path))),
		form("Import a child", "import", field("importname", "name", "Name", ""),
			area("document", "document", "An export, as a JSON document", "", "6")),
		g.If(!isRoot, quotaForm(p, form)),
		g.If(!isRoot, form("Delete it with what is below", "delete"))}
}

func quotaForm(p *treePage, form func(string, string, ...g.Node) g.Node) g.Node {
	q := p.quota
	if q == nil {
		return nil
	}
	limit := func(id, name, label string, value int64) g.Node {
		text := ""
		if value >= 0 {
			text = strconv.FormatInt(value, 10)
		}
		return field(id, name, label, text, h.Type("number"), h.Min("0"))
	}
	note := "Hard limits are not enforced by this server: enforceQuota is false."
	if q.Enforced {
		note = "Changes beyond a hard limit are refused; those beyond a soft one are logged."
	}
	return form("Set the quota", "quota", hint(note+" Empty fields mean no limit."),
		limit("quotacount", "count", "Znodes, soft", q.Limits.Count),
		limit("quotacounthard", "countHard", "Znodes, hard", q.Limits.CountHard),
		limit("quotabytes", "bytes", "Bytes, soft", q.Limits.Bytes),
		limit("quotabyteshard", "bytesHard", "Bytes, hard", q.Limits.BytesHard))
}

// quotaPart shows the quota of a znode, if it has one.
func quotaPart(q *api.Quota) g.Node {
	if q == nil || q.UsedCount < 0 {
		return nil
	}
	limit := func(soft, hard int64) string {
		text := func(n int64) string {
			if n < 0 {
				return "none"
			}
			return strconv.FormatInt(n, 10)
		}
		return text(soft) + " soft, " + text(hard) + " hard"
	}
	return section("quota", "Quota", table("Quota", []string{"Of", "Used", "Limits"},
		h.Tr(rowHead(h.Text("Znodes")), cell(strconv.FormatInt(q.UsedCount, 10)),
			cell(limit(q.Limits.Count, q.Limits.CountHard))),
		h.Tr(rowHead(h.Text("Bytes")), cell(strconv.FormatInt(q.UsedBytes, 10)),
			cell(limit(q.Limits.Bytes, q.Limits.BytesHard)))))
}

// history shows the versions of a znode, and one of them with what it has changed.
func (c *Console) history(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	q := r.URL.Query()
	p, err := pathOf(q)
	if err != nil {
		return err
	}
	f := frame{title: "History", heading: g.Group{h.Text("History of "), link(to("tree", "path", p), p)}, visitor: v}
	told, err := c.api.History(r, v, p)
	if err != nil {
		f.trouble = err
		return show(w, f, h.P(link(to("tree", "path", p), "Back to the znode")))
	}
	one := g.Node(nil)
	if zxid := q.Get("zxid"); zxid != "" {
		at, err := told.Find(zxid)
		if err != nil {
			f.trouble = err
		} else {
			one = versionPart(told, at, q.Get("view"))
		}
	}
	return show(w, f, historyView(told, one, q.Get("zxid")))
}

func historyView(t *api.History, one g.Node, zxid string) g.Node {
	rows := g.Map(t.Versions, func(v api.Version) g.Node {
		size, version := sizeOf(int64(v.Size)), strconv.Itoa(int(v.Version))
		if v.Kind == "deleted" || v.Kind == "permissions" {
			size = ""
		}
		if v.Version < 0 {
			version = ""
		}
		txn := g.Node(code(v.Zxid))
		if v.HasData {
			txn = h.A(h.Href(to("history", "path", t.Path, "zxid", v.Zxid)),
				g.If(v.Zxid == zxid, h.Aria("current", "true")),
				code(v.Zxid))
		}
		return h.Tr(h.Class(v.Kind), rowHead(txn), cell(v.Kind), cell(when(v.At)), cell(version), cell(size),
			h.Td(g.If(v.Session != "", code(v.Session))))
	})
	from := "This server has no files of its log."
	if t.From != "" {
		from = "From the log of this server, which was read back to txn " + t.From + "."
	}
	if t.Cut {
		from += " There are older files or versions, which were not read."
	}
	return g.Group{one, section("versions", "Versions",
		table("Versions", []string{"Txn", "Change", "Time", "Version", "Size", "Session"}, rows...),
		g.If(len(t.Versions) == 0, h.P(h.Text("No change of this znode is known."))),
		g.If(t.Hidden > 0, hint(fmt.Sprintf("%d more are hidden: the ACL of that time did not allow to read "+
			"them, or is not known.", t.Hidden))), hint(from))}
}

// versionPart shows the data of a version, and its difference to the version before.
func versionPart(t *api.History, at int, view string) g.Node {
	v := &t.Versions[at]
	var before *api.Version
	for i := at + 1; i < len(t.Versions) && before == nil && v.Kind != "created"; i++ {
		if t.Versions[i].HasData {
			before = &t.Versions[i]
		}
		if t.Versions[i].Kind == "deleted" || t.Versions[i].Kind == "created" {
			break
		}
	}
	now := viewOf(v.Raw, true, view)
	content := g.Group{h.Dl(h.Class("facts"), fact("Change", h.Text(v.Kind)),
		fact("Time", h.Text(when(v.At)+ago(v.At))),
		fact("Version", h.Textf("%d", v.Version)), fact("Size", h.Text(sizeOf(int64(v.Size)))))}
	if before != nil {
		old := viewOf(before.Raw, true, string(now.format))
		lines, ok := formats.Difference(old.text, now.text)
		switch {
		case bytes.Equal(before.Raw, v.Raw):
			content = append(content, h.P(h.ID("difference"), h.Text("The data is that of the version before.")))
		case ok:
			content = append(content, h.H3(h.Text("Difference to the version before")), linesPart(lines))
		default:
			content = append(content, h.P(h.ID("difference"),
				h.Text("Too much has changed to be shown line by line.")))
		}
	}
	return section("version", "Txn "+v.Zxid, content, h.H3(h.Text("Data")), textPart("text", now.text),
		g.If(now.cut, hint("This is the beginning.")))
}

// linesPart writes lines with a sign each, so that colours are not needed to read it.
func linesPart(lines []formats.Line) g.Node {
	return h.Pre(h.ID("difference"), h.Class("difference"), h.TabIndex("0"), h.Role("region"),
		h.Aria("label", "Difference"), g.Map(lines, func(l formats.Line) g.Node {
			text := h.Text(string(l.Sign) + " " + l.Text + "\n")
			switch l.Sign {
			case '+':
				return h.Ins(text)
			case '-':
				return h.Del(text)
			}
			return h.Span(text)
		}))
}

// createForm is the form that creates a child.
func createForm(form func(title, kind, version string, content ...g.Node) g.Node) g.Node {
	return form("Create a child", "create", "", field("newname", "name", "Name", ""),
		area("childdata", "data", "Data", "", "4"), box("sequential", h.Text("Add a number to the name")),
		h.P(h.Label(h.For("mode"), h.Text("Type")), h.Select(h.ID("mode"), h.Name("mode"),
			h.Option(h.Value("persistent"), h.Text("persistent")),
			h.Option(h.Value("container"), h.Text("container: goes after its last child")),
			h.Option(h.Value("ttl"), h.Text("with a TTL: goes when it is not changed")))),
		field("ttl", "ttl", "TTL in ms, of the type with a TTL", "", h.Type("number"), h.Min("1")), button("Create"))
}

// formMode reads the type of a new znode.
func formMode(f url.Values, c *api.Change) error {
	switch f.Get("mode") {
	case "", "persistent":
	case "container":
		c.Container = true
	case "ttl":
		n, err := strconv.ParseInt(f.Get("ttl"), 10, 64)
		if err != nil || n < 1 {
			return badForm("a TTL is a number of ms, at least 1")
		}
		c.TTL = n
	default:
		return badForm("a znode of this type cannot be created here")
	}
	return nil
}

// morePart leads to what is known of a znode beside its page.
func morePart(path string) g.Node {
	return h.P(h.Class("tools"), link(to("history", "path", path), "History"),
		link(inApp("live", "path", path), "Live changes"),
		h.A(h.Href(to("export", "path", path)), h.Attr("download"), h.Text("Export")))
}
