package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The page of what subtrees hold.

// weights are what the areas of the page can mean.
var weights = []struct {
	by, title string
	of        func(*api.SizePart) float64
}{
	{"bytes", "Bytes", func(p *api.SizePart) float64 { return float64(p.Bytes) }},
	{"znodes", "Znodes", func(p *api.SizePart) float64 { return float64(p.Znodes) }},
	{"writes", "Writes", func(p *api.SizePart) float64 { return p.Writes }},
}

func (c *Console) sizes(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	path, err := pathOf(r.URL.Query())
	if err != nil {
		return err
	}
	var s *api.Sizes
	err = c.api.Work(r, func() (err error) {
		s, err = c.api.Server().Sizes(v.Actor, path)
		return err
	})
	if err != nil {
		return err
	}
	by := 0
	for i := range weights {
		if weights[i].by == r.URL.Query().Get("by") {
			by = i
		}
	}
	return show(w, frame{title: "Sizes", visitor: v}, sizesView(s, by))
}

func sizesView(s *api.Sizes, by int) g.Node {
	here := func(path string, by int) string { return to("sizes", "path", path, "by", weights[by].by) }
	var tabs g.Group
	for i := range weights {
		tabs = append(tabs,
			h.A(h.Href(here(s.Path, i)), g.If(i == by, h.Aria("current", "true")), h.Text(weights[i].title)))
	}
	trail := h.Span(h.Class("crumbs"), g.Map(crumbs(s.Path), func(c crumb) g.Node {
		if c.path == s.Path {
			return h.Span(h.Aria("current", "location"), h.Text(c.name))
		}
		return g.Group{link(here(c.path, by), c.name), g.If(c.path != "/", h.Text("/"))}
	}))
	again := g.Node(nil)
	if s.Running {
		again = g.Group{h.Attr("hx-get", here(s.Path, by)), h.Attr("hx-trigger", "load delay:500ms"),
			h.Attr("hx-select", "#live"), h.Attr("hx-swap", "outerHTML")}
	}
	head := g.Group{h.P(h.Class("tools"), trail, link(to("tree", "path", s.Path), "Open in the tree")),
		h.P(h.Class("tools"), h.Role("group"), h.Aria("label", "Area"), h.Text("Area is "), tabs),
		ageOf(s, here(s.Path, by))}
	if s.Counted == 0 {
		return h.Div(h.ID("live"), again, head)
	}
	return h.Div(h.ID("live"), again, head,
		h.Div(h.Class("sized"), treemap(&s.Whole, by, here), partsTable(&s.Whole, by, here)))
}

// ageOf says how old the figures are.
func ageOf(s *api.Sizes, again string) g.Node {
	text := ""
	switch {
	case s.Counted == 0:
		text = fmt.Sprintf("The znodes are being counted: %.0f %% done. ", 100*s.Progress)
	case s.Running:
		text = fmt.Sprintf("Counted at %s; it is being counted again, %.0f %% done. ", when(s.Counted), 100*s.Progress)
	default:
		text = fmt.Sprintf("Counted at %s. ", when(s.Counted))
	}
	if s.Missed {
		text += "The tree has changed meanwhile, so that znodes may be missing. "
	}
	return h.P(h.ID("age"), h.Class("hint"), h.Text(text), g.If(s.Running, link(again, "Look again")))
}

// treemap draws the parts as areas. The table beside it has the same links, so it is for the eye alone.
func treemap(whole *api.SizePart, by int, here func(string, int) string) g.Node {
	weigh := weights[by].of
	cells := g.Group{}
	for i, c := range areas(whole.Parts, weigh, weigh(whole)) {
		if c.part == nil {
			cells = append(cells, cellOf(c.rect, "rest", h.El("title", h.Text("the rest"))))
			continue
		}
		inner := g.Group{h.El("title", h.Text(c.part.Path+", "+weightText(c.part, by)))}
		for _, d := range areas(c.part.Parts, weigh, weigh(c.part)) {
			if d.part != nil {
				inner = append(inner, cellOf(d.rect, "inner"))
			}
		}
		inner = append(inner,
			h.El("text", h.Attr("x", "8"), h.Attr("y", "20"), h.Text(below(whole.Path, c.part.Path))),
			h.El("text", h.Class("what"), h.Attr("x", "8"), h.Attr("y", "37"), h.Text(weightText(c.part, by))))
		cells = append(cells, h.A(h.Href(here(c.part.Path, by)), h.TabIndex("-1"),
			cellOf(c.rect, fmt.Sprintf("area tint%d", i%tints), inner)))
	}
	return h.El("svg", h.Class("treemap"), h.Aria("hidden", "true"), cells)
}

// tints is how many shades the areas have.
const tints = 4

func cellOf(r rect, class string, content ...g.Node) g.Node {
	percent := func(f float64) string { return fmt.Sprintf("%.3f%%", 100*f) }
	return h.El("svg", h.Class(class), h.Attr("x", percent(r.x)), h.Attr("y", percent(r.y)),
		h.Attr("width", percent(r.w)), h.Attr("height", percent(r.h)),
		h.El("rect", h.Attr("width", "100%"), h.Attr("height", "100%")), g.Group(content))
}

// weightText is what an area means, as text.
func weightText(p *api.SizePart, by int) string {
	switch weights[by].by {
	case "znodes":
		return fmt.Sprintf("%d znodes", p.Znodes)
	case "writes":
		return amount(p.Writes) + " writes/s"
	}
	return sizeOf(p.Bytes)
}

func partsTable(whole *api.SizePart, by int, here func(string, int) string) g.Node {
	weigh := weights[by].of
	parts := slices.Clone(whole.Parts)
	slices.SortStableFunc(parts, func(a, b api.SizePart) int { return cmp.Compare(weigh(&b), weigh(&a)) })
	most := max(weigh(whole), 1e-9)
	row := func(name g.Node, p *api.SizePart) g.Node {
		return h.Tr(rowHead(name, bar(weigh(p)/most)), cell(sizeOf(p.Bytes)), cell(fmt.Sprint(p.Znodes)),
			cell(amount(p.Writes)))
	}
	rows := []g.Node{row(h.Strong(h.Text("all of it")), whole)}
	for i := range parts {
		p, name := &parts[i], below(whole.Path, parts[i].Path)
		href := here(p.Path, by)
		if p.Znodes == 1 {
			href = to("tree", "path", p.Path) // it has nothing below it
		}
		rows = append(rows, row(link(href, name), p))
	}
	return h.Div(table("Parts", []string{"Subtree", "Bytes", "Znodes", "Writes/s"}, rows...),
		g.If(whole.Others > 0, hint(fmt.Sprintf("and %d smaller ones", whole.Others))),
		hint("Bytes are of paths and data. A znode written in the last hour counts with its mean since it was "+
			"created; what was deleted does not count."))
}

// rect is an area in shares of the whole: 0 to 1.
type rect struct{ x, y, w, h float64 }

// plot is a part with its place; part is nil for what is not in a part.
type plot struct {
	part *api.SizePart
	rect rect
}

// areas lays parts out in the unit square, the largest first, with the rest of total at the end. It is the layout of
// Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000.
func areas(parts []api.SizePart, weigh func(*api.SizePart) float64, total float64) []plot {
	var all []plot
	var values []float64
	sum := 0.0
	for i := range parts {
		if v := weigh(&parts[i]); v > 0 {
			all, values, sum = append(all, plot{part: &parts[i]}), append(values, v), sum+v
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	sorted, weight := make([]plot, 0, len(all)+1), make([]float64, 0, len(all)+1)
	for _, i := range order {
		sorted, weight = append(sorted, all[i]), append(weight, values[i])
	}
	if rest := total - sum; rest > total/1000 {
		sorted, weight = append(sorted, plot{}), append(weight, rest)
	} else {
		total = sum
	}
	if total <= 0 {
		return nil
	}
	for i, r := range squarify(weight, total) {
		sorted[i].rect = r
	}
	return sorted
}

// squarify returns a rectangle for each weight, in rows whose rectangles are as square as can be.
func squarify(weights []float64, total float64) []rect {
	placed := make([]rect, 0, len(weights))
	free := rect{0, 0, 1, 1}
	scale := 1 / total
	for at := 0; at < len(weights); {
		side := min(free.w, free.h)
		n, sum, worst := 0, 0.0, 0.0
		for at+n < len(weights) {
			next := sum + weights[at+n]*scale
			ratio := worstRatio(weights[at:at+n+1], next, side, scale)
			if n > 0 && ratio > worst {
				break
			}
			n, sum, worst = n+1, next, ratio
		}
		thick := min(sum/max(side, 1e-12), max(free.w, free.h))
		along := 0.0
		for _, w := range weights[at : at+n] {
			length := side * w * scale / max(sum, 1e-300)
			r := rect{free.x + along, free.y, length, thick}
			if free.w >= free.h {
				r = rect{free.x, free.y + along, thick, length}
			}
			placed, along = append(placed, r), along+length
		}
		if free.w >= free.h {
			free.x, free.w = free.x+thick, max(0, free.w-thick)
		} else {
			free.y, free.h = free.y+thick, max(0, free.h-thick)
		}
		at += n
	}
	return placed
}

// worstRatio is the greatest ratio of the sides of the rectangles of a row.
func worstRatio(row []float64, sum, side, scale float64) float64 {
	worst := 0.0
	for _, w := range row {
		a := w * scale
		ratio := side * side * a / max(sum*sum, 1e-300)
		worst = max(worst, ratio, 1/max(ratio, 1e-300))
	}
	return worst
}
