package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
	"github.com/seed94657493/warren/server/internal/orders"
)

// The page Steering has a form for each kind of orders. Its first button carries the order out, if the box is ticked;
// the other one tries it.

// steeringPage is what the page shows.
type steeringPage struct {
	state    orders.State
	ensemble *api.Ensemble
	session  string // that the form is about; empty if none was chosen
	token    string
	outcome  string // of the order that was given; empty for none
}

func (c *Console) steering(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	return c.showSteering(w, r, v, &steeringPage{session: r.URL.Query().Get("session")}, nil)
}

// showSteering shows the page, and why an order was refused.
func (c *Console) showSteering(w http.ResponseWriter, r *http.Request, v *api.Visitor, p *steeringPage,
	refused error,
) error {
	f := frame{title: "Steering", visitor: v, trouble: refused}
	err := c.api.Work(r, func() (err error) {
		p.state, err = c.api.SteeringState(v)
		p.ensemble = c.api.Server().Ensemble()
		return err
	})
	if err != nil {
		f.trouble = err
		return show(w, f, steeringIsClosed(v, c.api.Writes()))
	}
	if !c.api.Writes() {
		return show(w, f, steeringFacts(p), steeringIsClosed(v, false))
	}
	p.token = v.Token
	return show(w, f, outcomePart(p.outcome), steeringFacts(p), steeringForms(p))
}

// steer gives the order of a form.
func (c *Console) steer(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	r.Body = http.MaxBytesReader(w, r.Body, api.CredentialsBody)
	if err := r.ParseForm(); err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Text: "the form cannot be read"}
	}
	f := r.PostForm
	if err := c.api.MayChange(r, v, f.Get("token")); err != nil {
		return err
	}
	p := &steeringPage{session: f.Get("session")}
	k, order, err := orderOf(f)
	if err == nil {
		var record any
		if record, err = c.api.Steer(r, v, k, order); err == nil {
			p.outcome = outcomeOf(record, f.Get("dry") != "")
			if ended, ok := record.(orders.EndedSession); ok && ended.Ended {
				p.session = ""
			}
		}
	}
	return c.showSteering(w, r, v, p, err)
}

// orderOf reads a form of the page.
func orderOf(f url.Values) (*orders.Kind, orders.Order, error) {
	dry := f.Get("dry") != ""
	if !dry && f.Get("sure") == "" {
		return nil, nil, &api.Refusal{Status: http.StatusBadRequest,
			Text: "to give an order, tick the box; or try it, which changes nothing"}
	}
	var fault error
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSpace(f.Get(name)))
		if err != nil {
			fault = &api.Refusal{Status: http.StatusBadRequest, Text: name + " is not a number"}
		}
		return n
	}
	for _, k := range orders.Kinds() {
		if k.Name != f.Get("kind") {
			continue
		}
		order := k.New()
		switch o := order.(type) {
		case *orders.HandOver:
			to := int64(number("to"))
			o.To, o.Dry = &to, dry
		case *orders.Drain:
			o.Resume, o.Dry = f.Get("resume") != "", dry
			if !o.Resume {
				o.Rate = number("rate")
			}
		case *orders.Shed:
			percentage := number("percentage")
			o.Percentage, o.Dry = &percentage, dry
		case *orders.EndSession:
			o.Session, o.Dry = strings.TrimSpace(f.Get("session")), dry
		case *orders.LogLevel:
			o.Level, o.Seconds, o.Dry = f.Get("level"), 60*number("minutes"), dry
		case *orders.TakeSnapshot:
			o.Dry = dry
		}
		return &k, order, fault
	}
	return nil, nil, &api.Refusal{Status: http.StatusBadRequest, Text: "the form asks for nothing that is known"}
}

// outcomeOf says what an order has done, or would do.
func outcomeOf(record any, dry bool) string {
	would := func(done, would string) string {
		if dry {
			return would
		}
		return done
	}
	switch a := record.(type) {
	case orders.HandedOver:
		if a.From == a.To {
			return fmt.Sprintf("Server %d leads already.", a.To)
		}
		return would(fmt.Sprintf("Server %d leads, after server %d; it took %d ms.", a.To, a.From, a.TookMs),
			fmt.Sprintf("Server %d would hand over to server %d.", a.From, a.To))
	case orders.Drained:
		if dry {
			return fmt.Sprintf("%d clients would leave, or stay if the server takes clients again.", a.Clients)
		}
		if a.Draining {
			return fmt.Sprintf("The server is drained: %d clients, of which %d leave per second.", a.Clients, a.Rate)
		}
		return "The server takes clients."
	case orders.ShedConnections:
		return fmt.Sprintf(would("%d connections were ended.", "%d connections would end."), a.Shed)
	case orders.EndedSession:
		client := "a client of another server, or none"
		if a.Client != "" {
			client = "client " + a.Client
		}
		return fmt.Sprintf(would("Session %s of %s has ended, and %d ephemeral znodes with it.",
			"Session %s of %s would end, and %d ephemeral znodes with it."), a.Label, client, a.Ephemerals)
	case orders.Level:
		return "The log is at " + levelText(a) + would(".", "; nothing has changed.")
	case orders.TakenSnapshot:
		if a.Taken {
			return "The snapshot " + a.Zxid + " was written."
		}
		return "Nothing was written: " + snapshotText(a) + "."
	}
	return ""
}

func levelText(l orders.Level) string {
	if l.Then == "" {
		return l.Level
	}
	return l.Level + ", and at " + l.Then + " again at " + when(l.Until)
}

func snapshotText(s orders.TakenSnapshot) string {
	switch {
	case s.Zxid == "":
		return "there is no snapshot"
	case s.Txns == 0:
		return "the newest, " + s.Zxid + ", has every txn"
	case s.Txns < 0:
		return "the newest, " + s.Zxid + ", is of an earlier epoch"
	}
	return fmt.Sprintf("the newest is %s, %d txns ago", s.Zxid, s.Txns)
}

func outcomePart(outcome string) g.Node {
	return g.If(outcome != "", h.P(h.ID("outcome"), h.Class("fine"), h.Role("status"), h.Text(outcome)))
}

// steeringIsClosed says what a visitor lacks to give orders.
func steeringIsClosed(v *api.Visitor, writes bool) g.Node {
	switch {
	case v.User == "":
		return h.P(link("login", "Log in"), h.Text(" as a user with every permission on the root, such as the super "+
			"user."))
	case !writes:
		return hint("Orders are switched off: warren.console.writes is false.")
	}
	return nil
}

func steeringFacts(p *steeringPage) g.Node {
	clients := fmt.Sprintf("%d", p.state.Drained.Clients)
	if d := p.state.Drained; d.Draining {
		clients += fmt.Sprintf("; the server takes none, and %d leave per second", d.Rate)
	}
	return section("now", "This server", h.Dl(h.Class("facts"), fact("State", h.Text(p.ensemble.State)),
		fact("Clients", h.ID("clients"), h.Text(clients)),
		fact("Level of the log", h.ID("level"), h.Text(levelText(p.state.Level))),
		fact("Snapshot", h.ID("snapshot"), h.Text(snapshotText(p.state.Snapshot)))))
}

// steeringForms has a form for each kind of orders.
func steeringForms(p *steeringPage) g.Node {
	form := func(title, kind, do, sure string, open bool, content ...g.Node) g.Node {
		return h.Details(h.ID("of-"+kind), g.If(open, h.Attr("open")), h.Summary(h.Text(title)),
			h.Form(h.Method("post"), h.Action("steer"), hidden("token", p.token), hidden("kind", kind),
				g.Group(content), box("sure", h.Text(sure)),
				h.P(h.Button(h.Class("danger"), h.Text(do)), h.Text(" "),
					h.Button(h.Name("dry"), h.Value("1"), h.Text("Try: "+strings.ToLower(do[:1])+do[1:])))))
	}
	var heirs []g.Node
	for _, m := range p.ensemble.Members {
		if m.Role == "participant" {
			id := strconv.FormatInt(m.ID, 10)
			heirs = append(heirs, h.Option(h.Value(id), g.If(m.State == "leader", h.Selected()),
				h.Text("server "+id+", "+m.State)))
		}
	}
	var levels []g.Node
	for _, l := range []string{"debug", "info", "warn", "error"} {
		levels = append(levels, h.Option(h.Value(l), g.If(l == p.state.Level.Level, h.Selected()), h.Text(l)))
	}
	return section("orders", "Orders",
		g.If(len(heirs) > 0, g.Group{
			form("Move the leadership", "hand_over", "Hand over", "This server hands its leadership over", false,
				choice("to", "to", "To", heirs)),
			form("Send the clients to the other servers", "drain", "Drain", "This server takes no more clients", false,
				field("rate", "rate", "Connections that end per second", "100", h.Attr("inputmode", "numeric")),
				box("resume", h.Text("No: take clients again"))),
		}),
		form("End the connections of some clients", "shed_connections", "Shed", "Clients have to connect again", false,
			field("percentage", "percentage", "Percentage of the clients", "33", h.Attr("inputmode", "numeric"))),
		form("End a session", "end_session", "End", "Its ephemeral znodes go, and its client starts anew",
			p.session != "",
			field("session", "session", "Label or id, as on the page Sessions of this server", p.session)),
		form("Change the level of the log", "log_level", "Change", "The log tells more, or less", false,
			choice("newlevel", "level", "Level", levels),
			field("minutes", "minutes", "For how many minutes; 0 forever", "10", h.Attr("inputmode", "numeric"))),
		form("Write a snapshot", "take_snapshot", "Write", "The disk has work for some time", false))
}

// choice is a selection with its label.
func choice(id, name, label string, options []g.Node) g.Node {
	return h.P(h.Label(h.For(id), h.Text(label)), h.Select(h.ID(id), h.Name(name), g.Group(options)))
}

// endLink leads from a session to the form that ends it.
func endLink(label string) g.Node {
	return g.Group{h.Text(" "), link(to("steering", "session", label), "End")}
}
