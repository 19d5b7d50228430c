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
	heading g.Node // nil for the title
	visitor *api.Visitor
	trouble error // what was refused; nil for nothing
	bare    bool  // without links to other pages
}

// views are the links of every page.
var views = []struct{ page, title string }{
	{"./", "Overview"}, {"tree", "Tree"}, {"past", "Time travel"}, {"ensembles", "Ensembles"}, {"links", "Links"},
}

// htmxConfig switches off what htmx has besides replacing parts of pages: it evaluates and runs nothing, sends
// requests to no other server, and keeps no page in the storage of the browser. It does not wait before a new part can
// be used: a fast visitor would open a znode in it without an effect.
const htmxConfig = `{"allowEval":false,"allowScriptTags":false,"includeIndicatorStyles":false,"historyCacheSize":0,` +
	`"selfRequestsOnly":true,"defaultSettleDelay":0}`

// layout returns a whole page. Every text becomes part of the page by h.Text or as the value of an attribute, which
// escape it; no page uses g.Raw.
func layout(f frame, main ...g.Node) g.Node {
	heading := f.heading
	if heading == nil {
		heading = h.Text(f.title)
	}
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("htmx-config"), h.Content(htmxConfig)),
			h.TitleEl(h.Text(f.title+" - Warren")),
			h.Link(h.Rel("icon"), h.Href("static/icon.svg"), h.Type("image/svg+xml")),
			h.Link(h.Rel("stylesheet"), h.Href("static/console.css")),
			h.Script(h.Src("static/htmx-2.0.11.min.js"), h.Defer()),
			h.Script(h.Src("static/console.js"), h.Defer())),
		h.Body(h.A(h.Class("skip"), h.Href("#main"), h.Text("Skip to the content")),
			g.Iff(!f.bare, func() g.Node { return h.Header(navigation(f), visitorPart(f.visitor)) }),
			h.Main(h.ID("main"), h.TabIndex("-1"), h.H1(heading), troublePart(f.trouble),
				h.P(h.ID("unanswered"), h.Role("alert"), h.Attr("hidden")), g.Group(main)))))
}

func navigation(f frame) g.Node {
	var links g.Group
	for _, v := range views {
		isThis := v.title == f.title || v.page == "tree" && f.heading != nil
		links = append(links, h.Li(h.A(h.Href(v.page), g.If(isThis, h.Aria("current", "page")), h.Text(v.title))))
	}
	return h.Nav(h.Aria("label", "Console"), h.A(h.Class("brand"), h.Href("./"), h.Text("Warren")), h.Ul(links))
}

func visitorPart(v *api.Visitor) g.Node {
	if v.User == "" {
		return h.Div(h.Class("visitor"), h.A(h.Href("login"), h.Text("Log in")))
	}
	return h.Div(h.Class("visitor"), h.Form(h.Method("post"), h.Action("logout"), hidden("token", v.Token),
		h.Span(h.ID("user"), h.Text(v.User)), h.Button(h.Text("Log out"))))
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

// inApp returns a relative link to a page of the application.
func inApp(page string, parameters ...string) string { return "./#/" + to(page, parameters...) }

// link is a link in a text.
func link(href, text string) g.Node { return h.A(h.Href(href), h.Text(text)) }

func hidden(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

// field is an input with its label.
func field(id, name, label, value string, more ...g.Node) g.Node {
	return h.P(h.Label(h.For(id), h.Text(label)), h.Input(h.ID(id), h.Name(name), h.Value(value),
		h.Attr("autocapitalize", "none"), h.Attr("spellcheck", "false"), g.Group(more)))
}

// area is an input of several lines with its label. A browser drops the first line end.
func area(id, name, label, value, rows string) g.Node {
	return h.P(h.Label(h.For(id), h.Text(label)),
		h.Textarea(h.ID(id), h.Name(name), h.Rows(rows), h.Attr("spellcheck", "false"), h.Text("\n"+value)))
}

func button(text string) g.Node { return h.P(h.Button(h.Text(text))) }

// box is an input to tick.
func box(name string, label ...g.Node) g.Node {
	return h.P(h.Label(h.Input(h.Type("checkbox"), h.Name(name), h.Value("1")), h.Text(" "), g.Group(label)))
}

// fact is a name with its value in a list of facts.
func fact(name string, value ...g.Node) g.Node { return h.Div(h.Dt(h.Text(name)), h.Dd(value...)) }

func code(text string) g.Node { return h.Code(h.Text(text)) }

// section is a part of a page with its heading.
func section(id, title string, content ...g.Node) g.Node {
	return h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), h.Text(title)), g.Group(content))
}

// table is a table that moves sideways on a narrow screen.
func table(label string, columns []string, rows ...g.Node) g.Node {
	return h.Div(h.Class("wide"), h.Role("region"), h.Aria("label", label), h.TabIndex("0"), h.Table(
		h.THead(h.Tr(g.Map(columns, func(name string) g.Node { return h.Th(h.Scope("col"), h.Text(name)) }))),
		h.TBody(rows...)))
}

func rowHead(content ...g.Node) g.Node { return h.Th(h.Scope("row"), g.Group(content)) }

func cell(text string) g.Node { return h.Td(h.Text(text)) }
