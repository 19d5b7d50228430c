package console

import (
	"fmt"
	"net/http"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/internal/stagetext"
	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

// slow is the page of the operations that took long, and where their time went.
func (c *Console) slow(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	var found *api.Slow
	err := c.api.Work(r, func() (err error) {
		found, err = c.api.Server().Slow(v.Actor, pageRows)
		return err
	})
	if err != nil {
		return err
	}
	return show(w, frame{title: "Slow operations", visitor: v}, slowView(found))
}

func slowView(s *api.Slow) g.Node {
	if s.ThresholdMs <= 0 {
		return h.P(h.Text("warren.slow.threshold is off: no slow operations are kept."))
	}
	about := fmt.Sprintf("%d operations took %g ms or longer since this server began; the newest first.", s.Found,
		s.ThresholdMs)
	if !s.Everything {
		about += " Paths, sessions and traces are shown after a login with every permission on /."
	}
	if len(s.Operations) == 0 {
		return h.P(h.Text(about))
	}
	var rows g.Group
	for i := range s.Operations {
		o := &s.Operations[i]
		rows = append(rows, h.Tr(rowHead(h.Text(when(o.Began))), cell(o.Operation), h.Td(code(short(o.Path))),
			cell(fmt.Sprintf("%.1f", o.Millis)), h.Td(h.Strong(h.Text(o.Slowest))),
			cell(stagetext.Millis(o.Stages).String()),
			h.Td(code(short(o.Session))), h.Td(code(short(o.Trace))), cell(short(o.Error))))
	}
	return g.Group{h.P(h.Text(about)), table("Slow operations", []string{"Began", "Operation", "Path", "ms",
		"Slowest stage", "Stages, ms", "Session", "Trace", "Error"}, rows...)}
}
