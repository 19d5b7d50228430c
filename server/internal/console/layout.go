package console

import (
	"net/url"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// frame is what every page shows around its own part.
type frame struct {
	title   string
	visitor *api.Visitor
	trouble error // what was refused; nil for nothing
	bare    bool  // without links to other pages
}

// layout returns a whole page. Every text becomes part of the page by h.Text or as the value of an attribute, which
// escape it; no page uses g.Raw.
func layout(f frame, main ...g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.TitleEl(h.Text(f.title+" - Warren")),
			h.Link(h.Rel("icon"), h.Href("static/icon.svg"), h.Type("image/svg+xml")),
			h.Link(h.Rel("stylesheet"), h.Href("static/console.css"))),
		h.Body(h.A(h.Class("skip"), h.Href("#main"), h.Text("Skip to the content")),
			g.Iff(!f.bare, func() g.Node {
				return h.Header(h.A(h.Class("brand"), h.Href("./"), h.Text("Warren")), h.Span(h.ID("user"),
					h.Text(f.visitor.User)))
			}),
			h.Main(h.ID("main"), h.TabIndex("-1"), h.H1(h.Text(f.title)), troublePart(f.trouble), g.Group(main)))))
}

func troublePart(err error) g.Node {
	if err == nil {
		return nil
	}
	t := api.TroubleOf(err)
	return h.P(h.Class("trouble"), h.Role("alert"), h.Text(t.Detail),
		g.If(t.Code != "", h.Small(h.Text(" ("+t.Code+")"))))
}

// to returns a relative link to a page with parameters, which are names and values in turn.
func to(page string, parameters ...string) string {
	q := ""
	for i := 0; i < len(parameters); i += 2 {
		q += "&" + parameters[i] + "=" + url.QueryEscape(parameters[i+1])
	}
	if q != "" {
		page += "?" + q[1:]
	}
	return page
}

func link(href, text string) g.Node { return h.A(h.Href(href), h.Text(text)) }

func hidden(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

func field(id, name, label, value string, more ...g.Node) g.Node {
	return h.P(h.Label(h.For(id), h.Text(label)), h.Input(h.ID(id), h.Name(name), h.Value(value),
		h.Attr("autocapitalize", "none"), h.Attr("spellcheck", "false"), g.Group(more)))
}

func button(text string) g.Node { return h.P(h.Button(h.Text(text))) }

// fact is a name with its value in a list of facts.
func fact(name string, value ...g.Node) g.Node { return h.Div(h.Dt(h.Text(name)), h.Dd(value...)) }

func code(text string) g.Node { return h.Code(h.Text(text)) }

func section(id, title string, content ...g.Node) g.Node {
	return h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), h.Text(title)), g.Group(content))
}

// table is a table that moves sideways on a narrow screen.
func table(label string, columns []string, rows ...g.Node) g.Node {
	return h.Div(h.Class("wide"), h.Role("region"), h.Aria("label", label), h.TabIndex("0"), h.Table(
		h.THead(h.Tr(g.Map(columns, func(name string) g.Node { return h.Th(h.Scope("col"), h.Text(name)) }))),
		h.TBody(rows...)))
}

func cell(text string) g.Node { return h.Td(h.Text(text)) }

func hint(text string) g.Node { return h.P(h.Class("hint"), h.Text(text)) }

func statPart(s *api.Stat) g.Node {
	return section("stat", "State", h.Dl(h.Class("facts"),
		fact("Created", h.Text(when(s.Created)+ago(s.Created)+" "), code(s.Czxid)),
		fact("Data last set", h.Text(when(s.Modified)+ago(s.Modified)+" "), code(s.Mzxid)),
		fact("Children last changed", code(s.Pzxid)),
		fact("Version of the data", h.ID("version"), h.Textf("%d", s.Version)),
		fact("Version of the children", h.Textf("%d", s.Cversion)),
		fact("Version of the ACL", h.Textf("%d", s.Aversion)),
		fact("Length of the data", h.Text(sizeOf(int64(s.DataLength)))),
		g.If(s.Owner != "", fact("Ephemeral, of session", code(s.Owner)))))
}
