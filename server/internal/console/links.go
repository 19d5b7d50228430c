package console

import (
	"cmp"
	"net/http"
	"path"
	"strconv"
	"time"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The pages of links that show znodes without a login. A link leads to a page with a button: programs that look at
// every link in a message press none, and the word of the link is in no address after that.

// links shows the links of a visitor, and the form for another one.
func (c *Console) links(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	path, err := pathOf(r.URL.Query())
	if err != nil {
		return err
	}
	return c.showLinks(w, v, path, "", nil)
}

func (c *Console) showLinks(w http.ResponseWriter, v *api.Visitor, path, word string, refused error) error {
	f := frame{title: "Links", visitor: v, trouble: refused}
	if !c.api.MayShare(v) {
		return show(w, f, h.P(h.Text("Links need a login, and warren.console.links=true in zoo.cfg.")))
	}
	return show(w, f, linksView(c.api.LinksOf(v), v.Token, path, word))
}

// lives are the times for which a link can live.
var lives = []struct{ hours, title string }{{"1", "1 hour"}, {"8", "8 hours"}, {"24", "24 hours"}}

func linksView(all []*api.Link, token, path, word string) g.Node {
	made := g.Node(nil)
	if word != "" {
		made = section("made", "The link", h.P(h.ID("link"),
			link(to("shared", "link", word), "Copy the address of this link")),
			hint("It is shown this once. Those that have it and reach this port see, without a login, what you may "+
				"read at "+path+" and below. It ends with its time, with this server, and when you end it."))
	}
	rows := g.Map(all, func(l *api.Link) g.Node {
		return h.Tr(h.Th(h.Scope("row"), link("./#/"+to("tree", "path", l.Path), l.Path)),
			cell(when(l.Until.UnixMilli())),
			h.Td(h.Form(h.Method("post"), h.Action("unlink"), hidden("token", token), hidden("id", l.ID),
				h.Button(h.Aria("label", "End the link to "+l.Path), h.Text("End it")))))
	})
	return g.Group{made, section("new", "Make a link",
		h.Form(h.Method("post"), h.Action("links"), hidden("token", token),
			field("path", "path", "Shows this znode and all below it, read-only", path),
			h.P(h.Label(h.For("hours"), h.Text("For")), h.Select(h.ID("hours"), h.Name("hours"),
				g.Map(lives, func(l struct{ hours, title string }) g.Node {
					return h.Option(h.Value(l.hours), h.Text(l.title))
				}))), button("Make a link"))),
		section("yours", "Your links", g.If(len(all) == 0, hint("There are none.")),
			g.If(len(all) > 0, table("Your links", []string{"Below", "Until", ""}, rows...)))}
}

func (c *Console) share(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if err := c.readForm(w, r, v); err != nil {
		return err
	}
	path, err := pathOf(r.PostForm)
	if err != nil {
		return err
	}
	hours, _ := strconv.ParseUint(r.PostForm.Get("hours"), 10, 8) // zero is refused
	word, err := c.api.Share(r, v, r.PostForm.Get("token"), path, time.Duration(hours)*time.Hour)
	return c.showLinks(w, v, path, word, err)
}

func (c *Console) unshare(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if err := c.readForm(w, r, v); err != nil {
		return err
	}
	if err := c.api.Unshare(r, v, r.PostForm.Get("token"), r.PostForm.Get("id")); err != nil {
		return err
	}
	return redirect(w, "links")
}

// shared shows a link: at first a button, then znodes.
func (c *Console) shared(w http.ResponseWriter, r *http.Request, _ *api.Visitor) error {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	q := r.URL.Query()
	f := frame{title: "Shared view", visitor: &api.Visitor{}, bare: true}
	if word := q.Get("link"); word != "" {
		return show(w, f, h.P(h.Text("A user of this console shares some znodes with those that have this link.")),
			h.Form(h.Method("post"), h.Action("shared"), hidden("token", "none"), hidden("link", word),
				button("Show them")))
	}
	l, err := c.api.OpenedLink(r, q.Get("path"))
	if err != nil {
		f.trouble = err
		return show(w, f)
	}
	path := cmp.Or(q.Get("path"), l.Path)
	page := &sharedPage{path: path, crumbs: crumbsBelow(l.Path, path)}
	page.children, err = api.Ask(c.api, r, func() (_ *api.Children, err error) {
		if page.znode, err = c.api.Server().Znode(l.Actor, path, api.DataMax); err != nil {
			return nil, err
		}
		return c.api.Server().Children(l.Actor, path, q.Get("after"), pageRows)
	})
	if f.trouble = err; err != nil {
		return show(w, f)
	}
	return show(w, f, sharedView(page, l.Until))
}

func (c *Console) openLink(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if err := c.readForm(w, r, v); err != nil {
		return err
	}
	if _, err := c.api.OpenLink(w, r, r.PostForm.Get("link")); err != nil {
		return show(w, frame{title: "Shared view", visitor: &api.Visitor{}, bare: true, trouble: err})
	}
	return redirect(w, "shared")
}

// sharedPage is a znode with a page of its children.
type sharedPage struct {
	path     string
	crumbs   []crumb
	znode    *api.Znode
	children *api.Children
}

func sharedView(p *sharedPage, until time.Time) g.Node {
	here := func(at string) string { return to("shared", "path", at) }
	trail := h.P(h.Class("crumbs"), g.Map(p.crumbs, func(c crumb) g.Node {
		if c.path == p.path {
			return h.Span(h.Aria("current", "location"), h.Text(c.name))
		}
		return g.Group{link(here(c.path), c.name), g.If(c.path != "/", h.Text("/"))}
	}))
	laid := api.Lay(p.znode.Raw, p.znode.Whole, "")
	more := g.Node(nil)
	if after := p.children.After; after != "" {
		more = h.P(link(to("shared", "path", p.path, "after", after), "More"))
	}
	return g.Group{hint("Read-only, until " + when(until.UnixMilli()) + "."), trail, h.Div(h.Class("columns"),
		section("below", "Children", h.P(h.Textf("%d children", p.children.Total)),
			h.Ol(h.Class("children"), g.Map(p.children.Children, func(c api.Child) g.Node {
				return h.Li(link(here(path.Join(p.path, c.Name)), c.Name), h.Text(" "),
					g.If(c.Bytes > 0, h.Span(h.Class("what"), h.Text(sizeOf(int64(c.Bytes))))))
			})), more),
		h.Div(section("data", "Data", h.Pre(h.ID("text"), h.TabIndex("0"), h.Text("\n"+laid.Text)),
			g.If(laid.Cut, hint("This is the beginning."))), statPart(&p.znode.Stat)))}
}
