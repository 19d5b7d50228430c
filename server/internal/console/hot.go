package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The page of what causes most of the work.

// measures are the orders of the page, with their titles.
var measures = []struct{ by, title string }{{"requests", "Requests"}, {"bytes", "Bytes"}, {"time", "Time"}}

// hotRows is how many entries each list has.
const hotRows = 20

func (c *Console) hot(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	by := r.URL.Query().Get("by")
	if !slices.ContainsFunc(measures, func(m struct{ by, title string }) bool { return m.by == by }) {
		by = measures[0].by
	}
	var top *api.Top
	err := c.api.Work(r, func() (err error) {
		top, err = c.api.Server().Top(v.Actor, by, hotRows)
		return err
	})
	if err != nil {
		return err
	}
	return show(w, frame{title: "Hot", visitor: v}, hotView(top, by))
}

func hotView(t *api.Top, by string) g.Node {
	if !t.Enabled {
		return g.Group{h.P(h.Text("This server does not count what causes its load.")),
			hint("warren.top.enabled=true in zoo.cfg switches it on, with the next start of the server.")}
	}
	tabs := g.Map(measures, func(m struct{ by, title string }) g.Node {
		return h.A(h.Href(to("hot", "by", m.by)), g.If(m.by == by, h.Aria("current", "true")), h.Text(m.title))
	})
	total := fmt.Sprintf("All together: %s requests, %s and %s ms a second. ", amount(t.Total.Requests),
		sizeOf(int64(t.Total.Bytes)), amount(t.Total.Millis))
	if t.OneIn > 1 {
		total += fmt.Sprintf("One request of %d is counted, for all of them. ", t.OneIn)
	}
	total += fmt.Sprintf("Means over about %d seconds, of the requests to this server.", t.WindowSeconds)
	none := func(key string) g.Node { return h.Text(key) }
	return h.Div(h.ID("live"), h.Attr("hx-get", to("hot", "by", by)), h.Attr("hx-trigger", "every 5s"),
		h.Attr("hx-select", "#live"), h.Attr("hx-swap", "outerHTML"),
		h.P(h.Class("tools"), h.Role("group"), h.Aria("label", "Order"), h.Text("By "), tabs), hint(total),
		g.If(!t.Everything, hint("Paths, sessions and addresses are shown to the super user, and to "+
			"visitors to which the ACL of / gives every permission by name.")),
		h.Div(h.Class("pair"),
			g.Iff(t.Everything, func() g.Node {
				return hotPart("paths", "Paths", t.Paths, by, func(key string) g.Node {
					if len(key) >= pathCut {
						return h.Text(key + "...") // the rest is not known
					}
					return link(to("tree", "path", key), key)
				})
			}),
			hotPart("operations", "Operations", t.Operations, by, none),
			g.Iff(t.Everything, func() g.Node {
				return g.Group{
					hotPart("bysession", "Sessions", t.Sessions, by, func(key string) g.Node {
						return h.A(h.Href("sessions#session-"+url.PathEscape(key)), code(key))
					}),
					hotPart("addresses", "Addresses", t.Addresses, by, none)}
			})))
}

// pathCut is how many bytes of a path are counted.
const pathCut = 512

// hotPart is one list. A bar shows what each entry is to the first.
func hotPart(id, title string, all []api.TopEntry, by string, name func(string) g.Node) g.Node {
	if len(all) == 0 {
		return section(id, title, hint("Nothing was counted yet."))
	}
	value := func(e *api.TopEntry) float64 {
		switch by {
		case "bytes":
			return e.Bytes
		case "time":
			return e.Millis
		}
		return e.Requests
	}
	most := max(value(&all[0]), 1e-9)
	return section(id, title, table(title, []string{"", "Requests/s", "Bytes/s", "ms/s"},
		g.Map(all, func(e api.TopEntry) g.Node {
			return h.Tr(rowHead(name(e.Key), bar(value(&e)/most)), cell(amount(e.Requests)),
				cell(sizeOf(int64(e.Bytes))), cell(amount(e.Millis)))
		})...))
}

// bar is a line whose length is a share of 1. The figures beside it say the same.
func bar(share float64) g.Node {
	width := strconv.FormatFloat(100*min(max(share, 0), 1), 'f', 1, 64) + "%"
	return h.El("svg", h.Class("bar"), h.Aria("hidden", "true"), h.Attr("width", "100%"), h.Attr("height", "4"),
		h.El("rect", h.Attr("width", width), h.Attr("height", "4"), h.Attr("rx", "2")))
}

// amount writes a number with as many digits as mean something.
func amount(f float64) string {
	switch {
	case f >= 100 || f == 0:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}
