package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// aclForm is the form that edits the permissions of a znode: a row for each entry.
type aclForm struct {
	rows     []api.ACL
	version  string // of the ACL that the form replaces
	possible bool   // a form can hold the ACL as it is
	open     bool   // the visitor works on it
	lockout  bool   // the visitor was warned
}

// aclRowsMax bounds the rows of a form.
const aclRowsMax = 200

// permissions are the names of the letters, in the order of ACLs.
var permissions = []struct{ letter, name string }{
	{"c", "create"}, {"d", "delete"}, {"r", "read"}, {"w", "write"}, {"a", "admin"},
}

// aclFormOf is the form of a znode. A browser takes line ends out of a field, so an ACL that has some is not edited.
func aclFormOf(z *api.Znode) aclForm {
	isField := func(text string) bool { return !strings.ContainsAny(text, "\r\n\x00") }
	return aclForm{rows: z.ACL, version: strconv.Itoa(int(z.Stat.Aversion)),
		possible: len(z.ACL) <= aclRowsMax && !slices.ContainsFunc(z.ACL,
			func(e api.ACL) bool { return !isField(e.Scheme) || !isField(e.ID) || e.Scheme == "" && e.ID == "" })}
}

// nameIn is the name of a field in a row.
func nameIn(row int, field string) string { return field + "." + strconv.Itoa(row) }

// entriesOf reads the rows of a form. Rows without scheme and identity, and those that are ticked to be removed, are
// none.
func entriesOf(f url.Values) (all []api.ACL, err error) {
	n, err := strconv.Atoi(f.Get("rows"))
	if err != nil || n < 0 || n > aclRowsMax {
		return nil, badForm("the form lacks its number of entries")
	}
	for row := range n {
		e := api.ACL{Scheme: strings.TrimSpace(f.Get(nameIn(row, "scheme"))), ID: f.Get(nameIn(row, "id"))}
		if f.Get(nameIn(row, "remove")) != "" || e.Scheme == "" && e.ID == "" {
			continue
		}
		for _, p := range permissions {
			if slices.Contains(f[nameIn(row, "perm")], p.letter) {
				e.Perms += p.letter
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// hashPasswords puts the ids of scheme digest in the place of users and passwords, so that no password is sent back.
func (c *Console) hashPasswords(f url.Values) (refused error) {
	for row := range aclRowsMax {
		name := nameIn(row, "password")
		password, user := f.Get(name), f.Get(nameIn(row, "id"))
		f.Del(name)
		if password == "" || refused != nil {
			continue
		}
		if f.Get(nameIn(row, "scheme")) != "digest" || user == "" || strings.Contains(user, ":") {
			refused = badForm(fmt.Sprintf("entry %d: a password belongs to scheme digest and a user without a colon",
				row+1))
			continue
		}
		id, err := c.api.Server().DigestID(user, password)
		if err != nil {
			return err
		}
		f.Set(nameIn(row, "id"), id)
	}
	return refused
}

// changeACL does what the form of permissions asks for: it saves them, or shows the form with one more row. It warns
// a visitor that could not change them again.
func (c *Console) changeACL(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	f := r.PostForm
	refused := c.hashPasswords(f)
	change, err := changeOf(f)
	if err != nil {
		return c.showTree(w, r, v, url.Values{"path": {f.Get("path")}}, err)
	}
	form := aclForm{rows: change.ACL, version: f.Get("version"), possible: true, open: true}
	switch {
	case refused != nil:
	case f.Get("more") != "":
		form.rows = append(form.rows, api.ACL{Perms: "r"})
	case !v.MayAdmin(change.ACL) && f.Get("lockout") == "":
		form.lockout = true
		refused = badForm("with these permissions you could not change them again: no entry gives " + v.User +
			" the permission admin. To save them all the same, tick the box")
	default:
		if _, refused = c.api.Change(r, v, change); refused == nil {
			return redirect(w, to("tree", "path", change.Path))
		}
		if api.TroubleOf(refused).Status == http.StatusConflict {
			return c.showTree(w, r, v, url.Values{"path": {change.Path}}, refused) // with the ACL as it is now
		}
	}
	return c.showEditor(w, r, v, url.Values{"path": {change.Path}}, &form, refused)
}

// fields are the rows of the form, and its buttons. The first button is the one that Enter presses.
func (a *aclForm) fields() g.Node {
	rows := g.Group{}
	for i, e := range a.rows {
		rows = append(rows, aclRow(i, e))
	}
	return g.Group{hidden("rows", strconv.Itoa(len(a.rows))),
		h.DataList(h.ID("schemes"), g.Map([]string{"world", "auth", "digest", "ip", "sasl", "x509"},
			func(name string) g.Node { return h.Option(h.Value(name)) })),
		rows,
		g.If(a.lockout, box("lockout", h.Text("Save them, though I could not change them again"))),
		h.P(h.Button(h.Text("Save over version "+a.version)), h.Text(" "),
			h.Button(h.Name("more"), h.Value("1"), h.Text("Add an entry")))}
}

// aclRow is one entry. The row that was added gets the focus.
func aclRow(row int, e api.ACL) g.Node {
	id := func(field string) string { return "acl-" + field + "-" + strconv.Itoa(row) }
	tick := func(field, value, label string, on bool) g.Node {
		return h.Label(h.Input(h.Type("checkbox"), h.Name(nameIn(row, field)), h.Value(value), g.If(on, h.Checked())),
			h.Text(" "+label))
	}
	return h.FieldSet(h.Legend(h.Textf("Entry %d", row+1)), h.Div(h.Class("inline"),
		field(id("scheme"), nameIn(row, "scheme"), "Scheme", e.Scheme, h.List("schemes"),
			g.If(e.Scheme == "", h.AutoFocus())),
		field(id("id"), nameIn(row, "id"), "Identity", e.ID),
		field(id("password"), nameIn(row, "password"), "Password of a digest user", "",
			h.Type("password"), h.AutoComplete("new-password"))),
		h.P(h.Class("ticks"), g.Map(permissions, func(p struct{ letter, name string }) g.Node {
			return tick("perm", p.letter, p.name, strings.Contains(e.Perms, p.letter))
		}), tick("remove", "1", "Remove this entry", false)))
}
