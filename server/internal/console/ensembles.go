package console

import (
	"fmt"
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/seed94657493/warren/server/internal/api"
)

// The page of several ensembles side by side.

func (c *Console) ensembles(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if !c.api.HasOthers() {
		return show(w, frame{title: "Ensembles", visitor: v}, h.P(g.Text("No other ensembles are configured.")),
			hint("warren.console.ensembles=name=http://host:8080,other=http://host:8080 in zoo.cfg names the admin "+
				"addresses of their servers. Name several servers of an ensemble to see what each of them says."))
	}
	return show(w, frame{title: "Ensembles", visitor: v}, ensemblesView(c.api.Ensembles(r.Context())))
}

func ensemblesView(all *api.Ensembles) g.Node {
	cards := g.Group{}
	for i := range all.Ensembles {
		cards = append(cards, ensembleCard(fmt.Sprintf("ensemble%d", i), &all.Ensembles[i]))
	}
	return h.Div(h.ID("live"), g.Attr("hx-get", "ensembles"), g.Attr("hx-trigger", "every 5s"),
		g.Attr("hx-select", "#live"), g.Attr("hx-swap", "outerHTML"), h.Div(h.Class("cards"), cards))
}

func ensembleCard(id string, o *api.OtherEnsemble) g.Node {
	name := h.H2(h.ID(id), g.Text(o.Name))
	if o.Trouble != "" {
		return h.Section(h.Class("card"), h.Aria("labelledby", id), name,
			h.P(h.Class("trouble"), g.Text("Nothing is known of it: "+o.Trouble+".")))
	}
	e := &o.Ensemble
	leader, present := "none", 0
	switch {
	case e.Leader != nil:
		leader = fmt.Sprintf("server %d", *e.Leader)
	case len(e.Members) == 0:
		leader = "stands alone"
	}
	for _, m := range e.Members {
		if m.State == "leader" || m.State == "follower" || m.State == "observer" {
			present++
		}
	}
	wrong := g.Node(h.P(h.Class("fine"), g.Text("Nothing is known to be wrong.")))
	if len(e.Problems) > 0 {
		wrong = h.Ul(h.Class("problems"), g.Map(e.Problems, func(p api.Problem) g.Node {
			return h.Li(h.Strong(g.Text(p.Text)), g.If(p.Remedy != "", h.P(g.Text(p.Remedy))))
		}))
	}
	return h.Section(h.Class("card"), h.Aria("labelledby", id), name, wrong, h.Dl(h.Class("facts"),
		fact("Asked server is", g.Text(e.State)), fact("Leader", g.Text(leader)),
		g.If(present > 0, fact("Servers known to be there", g.Textf("%d of %d", present, len(e.Members)))),
		fact("Sessions", g.Textf("%d", e.Sessions)), fact("Znodes", g.Textf("%d", e.Znodes)),
		fact("Latency, mean", g.Textf("%.2f ms", e.Latency.Mean)), fact("Last txn", code(e.Zxid)),
		fact("Version", g.Text(short(e.Version)))))
}
