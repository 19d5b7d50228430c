package inside

import (
	"context"
	"fmt"
	"net/http"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Carried is a work that was done.
type Carried struct {
	Znodes int `json:"znodes" doc:"that were created, deleted or set"`
}

// ErrChanged means that a plan that was confirmed is not what would be done now.
var ErrChanged = refusal(http.StatusConflict,
	"the znodes have changed since the preview, so that nothing was done: look at the preview again")

// stepsPerMulti is how many steps a multi has at most.
const stepsPerMulti = 1000

// multis cuts steps into multis that a server takes whose requests may have so many bytes.
func multis(steps []step, requestMax int) (all [][]step) {
	most, size, from := requestMax*3/4, 0, 0
	for i, s := range steps {
		if i > from && (i-from == stepsPerMulti || size+s.size > most) {
			all, from, size = append(all, steps[from:i]), i, 0
		}
		size += s.size
	}
	if from < len(steps) {
		all = append(all, steps[from:])
	}
	return all
}

// multi is a request of several operations.
type multi []step

// AppendTo implements record.
func (m multi) AppendTo(b []byte) []byte {
	for _, s := range m {
		b = s.req.AppendTo(proto.AppendMultiOp(b, s.op))
	}
	return proto.AppendMultiEnd(b)
}

// multiError returns which operation of a multi was refused, if one was.
func multiError(reply []byte, m multi) (string, error) {
	r := proto.NewMultiReader(reply)
	for i := 0; ; i++ {
		h, ok := r.Next()
		if !ok {
			return "", nil
		}
		if h.Type != -1 {
			return "", nil // the first slot of a multi that was refused is an error, too
		}
		code := proto.ErrCode(r.R.Int32())
		if code != proto.OK && code != proto.ErrRuntimeInconsistency && i < len(m) {
			return m[i].path, code
		}
	}
}

// Carry does a work whose plan has this seal now. The error is ErrChanged if the plan is another one.
func (n *Changes) Carry(ctx context.Context, a visible.Actor, w Work, seal string) (*Carried, error) {
	p, err := n.plan(a, &w)
	switch {
	case err != nil:
		return nil, err
	case p.Seal != seal:
		return nil, ErrChanged
	case len(p.Refused) > 0:
		return nil, refusal(http.StatusForbidden, "nothing was done: "+p.Refused[0].Path+": "+p.Refused[0].Why)
	}
	s, err := n.open(a)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	done := &Carried{}
	for _, m := range multis(p.steps, n.Config.JuteMaxBuffer) {
		if err = ctx.Err(); err == nil {
			err = n.send(s, m)
		}
		if err != nil {
			t := visible.TroubleOf(err)
			t.Detail = fmt.Sprintf("%d of %d znodes were changed before: %s", done.Znodes, p.Znodes, t.Detail)
			return nil, refusal(t.Status, t.Detail)
		}
		done.Znodes += len(m)
	}
	return done, nil
}

func (n *Changes) send(s *session, m multi) error {
	reply, err := s.Do(proto.OpMulti, m, patience)
	if err != nil {
		return err
	}
	if path, err := multiError(reply, m); err != nil {
		t := visible.TroubleOf(err)
		return refusal(t.Status, path+": "+t.Detail)
	}
	return nil
}
