package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// role is what a member does with requests while it serves: a leader prepares them, a learner forwards them, and a member that
// has no leader refuses all but reads. Its methods are called by the node goroutine.
type role interface {
	// request takes one request. It returns false, and has done nothing, if there is no room for it now.
	request(b *flow.Batch, r *flow.Request) bool
	// Packet takes a packet that is the host's affair: REQUEST, REVALIDATE, and the data of PING and SYNC.
	Packet(l *peers.Link, p *peers.Packet)
	// resume answers a client that comes back with its session.
	resume(r *flow.Resumption)
	// flush ends a turn: what request has gathered goes to the core or the leader.
	flush()
	// deliver appends committed txns, with whom to answer, to out.
	deliver(txns []zab.Txn, out func(zab.Txn, flow.Item, []int32))
	// synced says that the syncs of clients of this server with these tokens are answered.
	synced(tokens []uint64)
	// calm reports whether there is little to do.
	calm() bool
	// end gives up everything that is not answered.
	end()
}

// none is what a role does that neither leads nor follows.
type none struct{}

func (none) Packet(*peers.Link, *peers.Packet) {}
func (none) calm() bool                        { return false }
func (none) flush()                            {}
func (none) synced([]uint64)                   {}

func (none) deliver(txns []zab.Txn, out func(zab.Txn, flow.Item, []int32)) {
	for _, t := range txns {
		out(t, remoteItem(t.Payload), nil)
	}
}

// remoteItem is the item of a txn that nobody here asked for.
func remoteItem(payload []byte) flow.Item { return flow.Item{Op: flow.TxnType(payload)} }

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
