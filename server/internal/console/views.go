package console

import (
	"fmt"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The pages, one function each.

// problemsPart lists problems as warren doctor does: how urgent, the name of the finding, what it is and what helps.
func problemsPart(all []api.Problem) g.Node {
	if len(all) == 0 {
		return h.P(h.Class("fine"), h.Text("Nothing is known to be wrong."))
	}
	return h.Ul(h.Class("problems"), g.Map(all, func(p api.Problem) g.Node {
		name := ""
		if p.Check != "" { // a server of an earlier version has none
			name = p.Severity + ", " + p.Check + ": "
		}
		return h.Li(h.Class(p.Severity), h.Span(h.Class("what"), h.Text(name)), h.Strong(h.Text(p.Text)),
			g.If(p.Remedy != "", h.P(h.Text(p.Remedy))))
	}))
}

func hint(text string) g.Node { return h.P(h.Class("hint"), h.Text(text)) }

// crumbsOf are the links to the znodes above a znode, and its name.
func crumbsOf(p *treePage) g.Node {
	links := h.Span(h.Class("crumbs"), g.Map(p.crumbs, func(c crumb) g.Node {
		if c.path == p.path {
			return h.Span(h.Aria("current", "location"), h.Text(c.name))
		}
		return g.Group{link(to("tree", "path", c.path), c.name), g.If(c.path != "/", h.Text("/"))}
	}))
	return links
}

func treeView(p *treePage, writes bool) g.Node {
	content := g.Group{childrenPart(p)}
	if p.znode != nil {
		content = append(content, h.Div(dataPart(p), statPart(&p.znode.Stat), aclPart(p.znode.ACL), quotaPart(p.quota),
			morePart(p.path),
			g.Iff(writes, func() g.Node { return editor(p) })))
	}
	return g.Group{
		h.P(h.Class("tools"), link(inApp("tree", "path", p.path), "Back to the tree"),
			g.If(p.form.token != "", link(to("links", "path", p.path), "Share"))),
		h.Div(h.Class("columns"), content)}
}

func childrenPart(p *treePage) g.Node {
	if p.children == nil {
		return section("below", "Children", h.P(h.Text("They may not be read.")))
	}
	count := fmt.Sprintf("%d children, in the order of their names", p.children.Total)
	switch {
	case p.children.Total == 0:
		count = "It has none."
	case p.children.Total == 1:
		count = "1 child"
	case p.children.Order != "name":
		count = fmt.Sprintf("%d children, in the order of their creation", p.children.Total)
	}
	more := g.Node(nil)
	if after := p.children.After; after != "" {
		next := to("tree", "path", p.path, "after", after)
		more = h.Li(h.Class("more"), h.Attr("hx-target", "this"), h.Attr("hx-swap", "outerHTML"),
			h.A(h.Href(next), h.Attr("hx-get", next), h.Attr("hx-select", ".children > li"), h.Text("More")))
	}
	return section("below", "Children", h.P(h.Text(count)), h.Ol(h.Class("children"),
		g.Map(p.children.Children, func(c api.Child) g.Node { return childItem(p.path, &c) }), more))
}

// childItem is a child in the list. One with children of its own can be opened in place.
func childItem(parent string, c *api.Child) g.Node {
	href := to("tree", "path", joinPath(parent, c.Name))
	var what []string
	if !c.Readable {
		what = append(what, "not readable")
	}
	if c.Owner != "" {
		what = append(what, "ephemeral")
	}
	if c.Children > 0 {
		what = append(what, fmt.Sprintf("%d below", c.Children))
	}
	if c.Bytes > 0 {
		what = append(what, sizeOf(int64(c.Bytes)))
	}
	name := g.Group{link(href, c.Name), h.Text(" "), h.Span(h.Class("what"), h.Text(strings.Join(what, ", ")))}
	if c.Children == 0 {
		return h.Li(name)
	}
	return h.Li(h.Details(h.Attr("hx-get", href), h.Attr("hx-trigger", "toggle once"),
		h.Attr("hx-select", ".children"), h.Attr("hx-target", "find .below"), h.Attr("hx-swap", "innerHTML"),
		h.Summary(name), h.Div(h.Class("below"))))
}

func statPart(s *api.Stat) g.Node {
	return section("stat", "State", h.Dl(h.Class("facts"),
		fact("Created", h.Text(when(s.Created)+ago(s.Created)+" "), code(s.Czxid)),
		fact("Data last set", h.Text(when(s.Modified)+ago(s.Modified)+" "), code(s.Mzxid)),
		fact("Children last changed", code(s.Pzxid)),
		fact("Version of the data", h.ID("version"), h.Textf("%d", s.Version)),
		fact("Version of the children", h.Textf("%d", s.Cversion)),
		fact("Version of the ACL", h.Textf("%d", s.Aversion)),
		fact("Length of the data", h.Text(sizeOf(int64(s.DataLength)))),
		g.If(s.Owner != "", fact("Ephemeral, of session",
			h.A(h.Href(inApp("sessions", "find", s.Owner)), code(s.Owner))))))
}

func aclPart(acl []api.ACL) g.Node {
	return section("acl", "Permissions", table("Permissions", []string{"Scheme", "Identity", "May"},
		g.Map(acl, func(e api.ACL) g.Node { return h.Tr(cell(e.Scheme), cell(e.ID), cell(e.Perms)) })...))
}

// editor has the forms that change a znode. Each names the version that it replaces.
func editor(p *treePage) g.Node {
	version := strconv.Itoa(int(p.znode.Stat.Version))
	form := func(title, kind, version string, content ...g.Node) g.Node {
		return h.Details(g.If(kind == "acl" && p.form.acl.open, h.Attr("open")), h.Summary(h.Text(title)),
			h.Form(h.Method("post"), h.Action("change"), hidden("token", p.form.token),
				hidden("kind", kind), hidden("path", p.path), hidden("version", version), g.Group(content)))
	}
	label := "New data"
	if p.form.encoding == "base64" {
		label += " in base64"
	}
	return section("change", "Change",
		g.If(p.form.possible, form("Edit the data", "set", version, hidden("encoding", p.form.encoding),
			area("newdata", "data", label, p.form.data, "10"), button("Save over version "+version))),
		createForm(form),
		g.Iff(p.form.acl.possible, func() g.Node {
			return form("Edit the permissions", "acl", p.form.acl.version, p.form.acl.fields())
		}),
		form("Delete", "delete", version, box("sure", h.Text("Delete version "+version+" of "), code(p.path)),
			h.P(h.Button(h.Class("danger"), h.Text("Delete")))), subtreeForms(p))
}

func loginView() g.Node {
	return g.Group{
		h.Form(h.Method("post"), h.Action("login"), h.Class("narrow"),
			field("name", "user", "User", "", h.AutoComplete("username"), h.Required()),
			field("password", "password", "Password", "", h.Type("password"), h.AutoComplete("current-password"),
				h.Required()),
			button("Log in")),
		h.P(h.Class("hint"),
			h.Text("Users are those of scheme digest: the super user, and users that the ACL of some znode names ("),
			code("addauth digest user:password"), h.Text("). Without a login you see what "), code("world:anyone"),
			h.Text(" may read."))}
}
