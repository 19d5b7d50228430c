package console

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The page of what coordinates programs: locks, elections, queues and so on.

func (c *Console) recipes(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	under, after, err := placeOf(r.URL.Query())
	if err != nil {
		return err
	}
	var found *api.Recipes
	err = c.api.Work(r, func() (err error) {
		found, err = c.api.Server().Recipes(v.Actor, under, after, pageRows)
		return err
	})
	return show(w, frame{title: "Recipes", visitor: v, trouble: err}, recipesView(under, found))
}

// placeOf returns where a page looks, and where it goes on.
func placeOf(q url.Values) (under, after string, err error) {
	under, err = pathOf(url.Values{"path": q["under"]})
	if after = q.Get("after"); err == nil && len(after) > pathMax {
		err = &api.Refusal{Status: http.StatusBadRequest, Text: "after is too long"}
	}
	return under, after, err
}

func recipesView(under string, found *api.Recipes) g.Node {
	form := h.Form(h.Method("get"), h.Action("recipes"), h.Class("inline"), field("under", "under", "Below", under),
		button("Look"))
	if found == nil {
		return form
	}
	count := fmt.Sprintf("%d found among %d znodes", len(found.Recipes), found.Visited)
	if found.After != "" {
		count += " so far"
	}
	if found.Missed {
		count += "; the tree has changed meanwhile, so that some may be missing"
	}
	return g.Group{form, h.P(h.ID("count"), h.Class("hint"), h.Text(count+".")),
		g.If(len(found.Recipes) == 0, h.P(h.Text("No locks, elections, semaphores, barriers, queues, services or "+
			"groups in the layouts of Curator, kazoo or Warren are there."))),
		h.Div(h.Class("cards"), g.Group(recipeCards(found.Recipes))),
		g.If(found.After != "", h.P(link(to("recipes", "under", under, "after", found.After), "Go on")))}
}

func recipeCards(all []api.Recipe) (cards []g.Node) {
	for i := range all {
		cards = append(cards, recipeCard(fmt.Sprintf("recipe%d", i), &all[i]))
	}
	return cards
}

// recipeCard is one recipe. Those that have what all want stand out.
func recipeCard(id string, r *api.Recipe) g.Node {
	kind := r.Kind
	if !r.Sure {
		kind = "perhaps a " + kind
	}
	more := g.Node(nil)
	if n := r.Total - len(r.Members); n > 0 {
		more = hint(fmt.Sprintf("and %d more", n))
	}
	return h.Section(h.Class("card"), h.Aria("labelledby", id),
		h.H2(h.ID(id), link(to("tree", "path", r.Path), r.Path)),
		h.P(h.Class("tools"), h.Span(h.Class("badge"), h.Text(kind)), h.Span(h.Class("what"), h.Text(r.Layout))),
		g.If(r.Note != "", hint(r.Note)),
		h.Ol(h.Class("line"), g.Map(r.Members, func(m api.Holder) g.Node { return holderItem(r.Path, &m) })), more)
}

// holderItem is a member in the line of a recipe.
func holderItem(parent string, m *api.Holder) g.Node {
	what := g.Group{h.Span(h.Class("state"), h.Text(m.State)), h.Text(" ")}
	if m.Text != "" {
		what = append(what, h.Span(h.Class("payload"), h.Text(m.Text)), h.Text(" "))
	}
	details := g.Group{link(to("tree", "path", m.Path), below(parent, m.Path))}
	if m.Session != "" {
		details = append(details, h.Text(", session "),
			h.A(h.Href("sessions#session-"+url.PathEscape(m.Session)), code(m.Session)))
	}
	if m.Since != 0 {
		details = append(details, h.Text(", since "), moment(m.Since))
	}
	return h.Li(h.Class(m.State), what, h.Div(h.Class("what"), details))
}

// below returns a path without that of a znode above it.
func below(parent, path string) string {
	if parent != "/" && len(path) > len(parent) && path[:len(parent)] == parent {
		return path[len(parent)+1:]
	}
	return path
}

// moment is a time, with how long ago it was for a reader in a hurry.
func moment(ms int64) g.Node {
	text := when(ms)
	if ago := time.Since(time.UnixMilli(ms)); ms != 0 && ago >= 0 {
		text += " (" + duration(ago.Milliseconds()) + " ago)"
	}
	return h.Text(text)
}
