package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The pages of what was.

func (c *Console) past(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	q := r.URL.Query()
	path, err := pathOf(q)
	if err != nil {
		return err
	}
	var p *api.Past
	if text := q.Get("at"); text != "" {
		var at api.Moment
		if at, err = api.ParseMoment(text); err == nil {
			p, err = c.api.Server().Past(r.Context(), v.Actor, at, path, q.Get("after"), pageRows)
		}
	}
	return show(w, frame{title: "Time travel", visitor: v, trouble: err}, pastForms(q.Get("at"), path, "", "", path),
		g.Iff(p != nil, func() g.Node { return pastPart(p, q.Get("at"), path) }))
}

func (c *Console) difference(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	q := r.URL.Query()
	under, err := pathOf(url.Values{"path": q["under"]})
	if err != nil {
		return err
	}
	var d *api.Difference
	from, to, err := api.ParseMoments(q.Get("from"), q.Get("to"))
	if err == nil {
		d, err = c.api.Server().Difference(r.Context(), v.Actor, from, to, under, pageMax)
	}
	return show(w, frame{title: "Time travel", visitor: v, trouble: err},
		pastForms("", "/", q.Get("from"), q.Get("to"), under),
		g.Iff(d != nil, func() g.Node { return differencePart(d) }))
}

// pageMax is how many changes a page has.
const pageMax = 1000

func pastForms(at, path, from, to, under string) g.Node {
	return g.Group{
		h.P(h.Class("hint"), h.Text("The tree at a txn or a time, and what changed between two, from the log and "+
			"the snapshots on the disk of this server. It is shown to those that may fetch a snapshot. A moment is a "+
			"zxid such as "), code("0x100000005"), h.Text(", or a time in UTC such as "), code("2026-01-31 12:00:00"),
			h.Text(".")),
		h.Div(h.Class("pair"),
			section("look", "Look at a moment", h.Form(h.Method("get"), h.Action("past"),
				field("at", "at", "Moment", at, h.Required()), field("path", "path", "Znode", path), button("Look"))),
			section("compare", "Compare two moments", h.Form(h.Method("get"), h.Action("difference"),
				field("from", "from", "From", from, h.Required()), field("to", "to", "To (the present if empty)", to),
				field("under", "under", "Below", under), button("Compare"))))}
}

func pastPart(p *api.Past, at, path string) g.Node {
	there := func(path string) string { return to("past", "at", at, "path", path) }
	trail := h.Span(h.Class("crumbs"), g.Map(crumbs(path), func(c crumb) g.Node {
		if c.path == path {
			return h.Span(h.Aria("current", "location"), h.Text(c.name))
		}
		return g.Group{link(there(c.path), c.name), g.If(c.path != "/", h.Text("/"))}
	}))
	moment := "after txn " + p.Zxid
	if p.At != 0 {
		moment += ", of " + when(p.At)
	}
	head := g.Group{h.P(h.Class("tools"), trail, link(to("tree", "path", path), "As it is now"),
		link(to("difference", "from", p.Zxid, "under", path), "What changed since")),
		hint("As it was " + moment + ". Brought back from " + p.Snapshot + ".")}
	if !p.Exists {
		return section("was", "There was no such znode", head)
	}
	children := g.Map(p.Children.Children, func(c api.Child) g.Node {
		what := []string{sizeOf(int64(c.Bytes))}
		if c.Children > 0 {
			what = append(what, strconv.Itoa(int(c.Children))+" below")
		}
		if c.Owner != "" {
			what = append(what, "ephemeral")
		}
		return h.Li(link(there(joinPath(path, c.Name)), c.Name), h.Text(" "),
			h.Span(h.Class("what"), h.Text(strings.Join(what, ", "))))
	})
	more := g.Node(nil)
	if after := p.Children.After; after != "" {
		more = h.P(link(to("past", "at", at, "path", path, "after", after), "More"))
	}
	was := viewOf(p.Znode.Raw, p.Znode.Whole, "")
	return section("was", "As it was", head, h.Div(h.Class("columns"),
		section("below", "Children", h.P(h.Textf("%d children", p.Children.Total)),
			h.Ol(h.Class("children"), g.Group(children)), more),
		h.Div(section("data", "Data", h.Pre(h.ID("text"), h.TabIndex("0"), h.Text("\n"+was.text)),
			g.If(was.cut, hint("This is the beginning."))), statPart(&p.Znode.Stat), aclPart(p.Znode.ACL))))
}

func differencePart(d *api.Difference) g.Node {
	count := strconv.Itoa(d.Changed) + " znodes differ between " + d.From + " and " + d.To
	if d.Changed > len(d.Changes) {
		count += "; the first are shown"
	}
	if d.Cut {
		count += "; more were touched than are compared"
	}
	rows := g.Map(d.Changes, func(c api.PastChange) g.Node {
		kind := c.Kind
		if len(c.What) > 0 {
			kind += ": " + strings.Join(c.What, ", ")
		}
		side := func(moment, text string, there bool) g.Node {
			if !there {
				return h.Td(h.Text("-"))
			}
			return h.Td(link(to("past", "at", moment, "path", c.Path), "znode"), h.Text(" "),
				h.Span(h.Class("payload"), h.Text(text)))
		}
		return h.Tr(h.Class(c.Kind), rowHead(h.Text(c.Path)), cell(kind), side(d.From, c.Before, c.Kind != "created"),
			side(d.To, c.After, c.Kind != "deleted"))
	})
	return section("changed", "What changed", h.P(h.ID("count"), h.Text(count+".")),
		table("Changes", []string{"Znode", "Change", "Before", "After"}, rows...))
}
