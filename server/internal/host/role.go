package host

import (
	"github.com/seed94657493/warren/server/internal/flow"
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
