package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// role is what the host does with requests while it serves: a leader prepares them, a learner forwards them, and a
// server without a leader refuses everything but reads. The host goroutine calls the methods.
type role interface {
	// request takes one request. It returns false, and has done nothing, if there is no room for it now.
	request(b *flow.Batch, r *flow.Request) bool
	// Packet handles a packet that the core does not handle: REQUEST, REVALIDATE, and the data of PING and SYNC.
	Packet(l *link, p *peers.Packet)
	// resume answers a client that comes back with its session.
	resume(r *flow.Resumption)
	// flush ends a turn: what request has collected goes to the core or to the leader.
	flush()
	// deliver adds committed txns to b, each with the client to answer, and the answers that belong between them.
	deliver(txns []zab.Txn, b *flow.ApplyBatch)
	// delivered says that the txns up to z are on their way to the state.
	delivered(z proto.Zxid)
	// synced says that the syncs of clients of this server with these tokens are answered.
	synced(tokens []uint64)
	// refusesWrites reports whether the leader, which this server is or follows, refuses writes for lack of room.
	refusesWrites() bool
	// calm reports whether there is little to do.
	calm() bool
	// end gives up everything that is not answered.
	end()
}

// noRole has the methods of a role that neither leads nor follows.
type noRole struct{}

func (noRole) Packet(*link, *peers.Packet) {}
func (noRole) calm() bool                  { return false }
func (noRole) refusesWrites() bool         { return false }
func (noRole) flush()                      {}
func (noRole) synced([]uint64)             {}
func (noRole) delivered(proto.Zxid)        {}

func (noRole) deliver(txns []zab.Txn, b *flow.ApplyBatch) {
	for _, t := range txns {
		addRemote(b, t.Payload)
	}
}

// addRemote adds a txn that no client of this server asked for.
func addRemote(b *flow.ApplyBatch, payload []byte) {
	b.Add(&flow.Item{Op: flow.HeaderOf(payload).Type}, payload, nil)
}

// verdictInput is what a verdict depends on.
type verdictInput struct {
	client  bool              // a client of this server asks, not the server itself
	session *sessions.Session // nil for the server's own, and for a client of another server
	op      proto.OpCode
	at      int64 // time of arrival, ns on the server's clock
	noRoom  bool  // writes are refused, because too few disks have room
}

// verdict decides whether a request may go on. It is the one place that decides this, for leaders, learners,
// standalone and read-only servers. If drop is true the request is not answered and its connection ends. Otherwise
// code is the answer, unless it is OK.
//
//   - Requests that a client sends after it has closed its session are dropped. Source: server-semantics 7.4.
//   - The beginning and the end of a session always go on: they free more than they take.
//   - Without room on the disks writes are refused. A sync is not a write.
//   - A request that has waited too long is refused: throttled_op_wait_time.
//
// After that the leader checks whether the session lives and belongs to this server. Only the leader knows that.
func verdict(e *env.Env, q *verdictInput) (code proto.ErrCode, drop bool) {
	switch {
	case q.session != nil && q.session.IsClosing() && !(q.op == proto.OpCloseSession && !q.client):
		return proto.OK, true
	case q.op == proto.OpCreateSession, q.op == proto.OpCloseSession:
		return proto.OK, false
	case q.noRoom && q.op != proto.OpSync:
		e.Metrics.RefusedDiskFull.Inc()
		return proto.ErrNotReadOnly, false
	case q.client && waitedTooLong(e, q.at):
		e.Metrics.ThrottledOps.Inc()
		return proto.ErrThrottledOp, false
	}
	return proto.OK, false
}

// waitedTooLong reports whether a request that arrived at received has waited longer than throttled_op_wait_time
// allows.
func waitedTooLong(e *env.Env, received int64) bool {
	limit := e.Config.ThrottledOpWaitTime
	return limit > 0 && e.Clock.Now()-received > int64(limit)
}
