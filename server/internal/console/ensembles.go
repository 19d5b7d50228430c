package console

import (
	"fmt"
	"net/http"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// The page of several ensembles side by side.

func (c *Console) ensembles(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if !c.api.HasOthers() {
		return show(w, frame{title: "Ensembles", visitor: v}, h.P(h.Text("No other ensembles are configured.")),
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
	return h.Div(h.ID("live"), h.Attr("hx-get", "ensembles"), h.Attr("hx-trigger", "every 5s"),
		h.Attr("hx-select", "#live"), h.Attr("hx-swap", "outerHTML"), h.Div(h.Class("cards"), cards))
}

func ensembleCard(id string, o *api.OtherEnsemble) g.Node {
	name := h.H2(h.ID(id), h.Text(o.Name))
	if o.Trouble != "" {
		return h.Section(h.Class("card"), h.Aria("labelledby", id), name,
			h.P(h.Class("trouble"), h.Text("Nothing is known of it: "+o.Trouble+".")))
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
	return h.Section(h.Class("card"), h.Aria("labelledby", id), name, problemsPart(e.Problems), h.Dl(h.Class("facts"),
		fact("Asked server is", h.Text(e.State)), fact("Leader", h.Text(leader)),
		g.If(present > 0, fact("Servers known to be there", h.Textf("%d of %d", present, len(e.Members)))),
		fact("Sessions", h.Textf("%d", e.Sessions)), fact("Znodes", h.Textf("%d", e.Znodes)),
		fact("Latency, mean", h.Textf("%.2f ms", e.Latency.Mean)), fact("Last txn", code(e.Zxid)),
		fact("Version", h.Text(short(e.Version)))))
}
