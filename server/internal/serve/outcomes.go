package serve

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
)

// outcomes answers what has become of earlier requests of the session. The state has them all, or they never will be
// executed: that is why the client was granted the extension. Source: extensions 2.
func (r *reader) outcomes(q *request) (done bool, err error) {
	if !r.alone() {
		return false, nil
	}
	var asked proto.OutcomesRequest
	code, body := proto.ErrMarshallingError, []byte(nil)
	if asked.ReadFrom(q.body) == nil {
		r.passTurn()
		found, err := r.srv.Outcomes.Find(r.c.Session.Load().ID, &asked)
		r.workOn()
		if code = proto.OK; err != nil {
			code = proto.ErrUnimplemented
			r.srv.Log.Info("cannot tell a client what became of its unanswered requests",
				zap.Stringer("client_addr", r.c.Remote), zap.Error(err))
		} else {
			body = (&proto.OutcomesResponse{Outcomes: found}).AppendTo(nil)
		}
	}
	frame := append(beginReply(nil), body...)
	endReply(frame, 0, q.xid, r.srv.Store.LastZxid(), code)
	r.answer(frame, queuedReply)
	return true, nil
}
