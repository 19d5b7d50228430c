package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// asked is what a verdict depends on.
type asked struct {
	client  bool              // a client of this server asks, and not the server itself
	session *sessions.Session // nil for the server's own, and for a client of another server
	op      proto.OpCode
	at      int64 // when it was received, ns on the server's clock
	noRoom  bool  // writes are refused, because too few disks have room
}

// verdict is whether a request may go on: it is the one place that decides that for leaders, learners, standalone servers and read-only
// ones. drop says that it is not answered and its connection ends; otherwise code is the answer if it is not OK.
//
//   - What a client sends behind the end of its session is dropped. Source: server-semantics 7.4.
//   - The beginning and the end of a session always go on: they free more than they take.
//   - Without room on the disks writes are refused. A sync is no write.
//   - What has waited too long is refused: throttled_op_wait_time.
//
// Who leads checks after that whether the session lives and belongs to this server, which only the leader knows.
func (s *Host) verdict(q *asked) (code proto.ErrCode, drop bool) {
	switch {
	case q.session != nil && q.session.IsClosing() && !(q.op == proto.OpCloseSession && !q.client):
		return proto.OK, true
	case q.op == proto.OpCreateSession, q.op == proto.OpCloseSession:
		return proto.OK, false
	case q.noRoom && q.op != proto.OpSync:
		s.Metrics.RefusedDiskFull.Inc()
		return proto.ErrNotReadOnly, false
	case q.client && s.waitedTooLong(q.at):
		s.Metrics.ThrottledOps.Inc()
		return proto.ErrThrottledOp, false
	}
	return proto.OK, false
}

// waitedTooLong reports whether a request that was received at a time has waited longer than throttled_op_wait_time allows.
func (s *Host) waitedTooLong(received int64) bool {
	limit := s.Config.ThrottledOpWaitTime
	return limit > 0 && s.Clock.Now()-received > int64(limit)
}
