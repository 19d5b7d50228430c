package sim

import (
	"encoding/binary"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// load is the clients: they write through the leader and remember what was acknowledged.
type load struct {
	next    uint64 // content of the next txn
	pending []request
	acked   proto.Zxid // newest acknowledged write
	ackedAt []zab.Txn  // all acknowledged writes, in the order of their acknowledgement
	stopped bool
	tokens  map[uint64]syncCall
	token   uint64
}

// request is a write that was proposed and not answered.
type request struct {
	n     *node
	life  int
	txn   zab.Txn
	after proto.Zxid // the newest write that was acknowledged before this one was asked for
}

// syncCall is a sync that was not answered.
type syncCall struct {
	n     *node // whose reads it is for
	life  int
	acked proto.Zxid // what must be visible
	// of the protected writes, if disks are exchanged
	protected int
}

// payload returns a content that no other txn has.
func (l *load) payload() []byte {
	l.next++
	return binary.BigEndian.AppendUint64(nil, l.next)
}

func (l *load) start(s *Sim) {
	l.tokens = map[uint64]syncCall{}
	var next func()
	next = func() {
		if l.stopped {
			return
		}
		n := s.nodes[s.rng.IntN(len(s.nodes))]
		switch {
		case s.chance(12):
			l.sync(s, n)
		default:
			for _, o := range s.nodes { // mostly through the one that thinks that it leads
				if o.up && o.status.State == zab.Leading && o.status.Serving && s.chance(2) {
					n = o
				}
			}
			l.write(s, n, 1+s.rng.IntN(4))
		}
		s.after(s.between(20, 600), next)
	}
	s.after(1000, next)
}

// write proposes some txns at a server.
func (l *load) write(s *Sim, n *node, count int) bool {
	if !n.up || n.status.State != zab.Leading || !n.status.Serving {
		return false
	}
	var txns []zab.Txn
	z := n.core.NextZxid()
	for i := range count {
		txns = append(txns, zab.Txn{Zxid: z + proto.Zxid(i), Payload: l.payload()})
	}
	if err := n.propose(txns...); err != nil {
		n.drain()
		return false
	}
	for _, t := range txns {
		s.broadcasts(n, t)
		l.pending = append(l.pending, request{n, n.life, t, l.acked})
	}
	s.tracef("%d proposes %v..%v", n.id, z, txns[count-1].Zxid)
	n.drain()
	return true
}

// delivered acknowledges a write to its client.
func (l *load) delivered(n *node, t zab.Txn) {
	if n.status.State != zab.Leading {
		return
	}
	for i, r := range l.pending {
		if r.n == n && r.life == n.life && r.txn.Zxid == t.Zxid {
			if n.s.world != nil {
				n.s.protect(n, t)
			} else {
				n.s.checkRealTime(r)
			}
			l.acked = max(l.acked, t.Zxid)
			l.ackedAt = append(l.ackedAt, t)
			n.s.Stats.Acked++
			l.pending = append(l.pending[:i:i], l.pending[i+1:]...)
			return
		}
	}
}

// lost forgets the writes of a leadership that has ended: no client will be told whether they took effect.
func (l *load) lost(n *node) {
	kept := l.pending[:0:0]
	for _, r := range l.pending {
		if r.n != n {
			kept = append(kept, r)
		}
	}
	l.pending = kept
}

// sync asks the leader on behalf of n, which is the leader itself or one of its learners.
func (l *load) sync(s *Sim, n *node) {
	if !n.up || !n.status.Serving {
		return
	}
	l.token++
	call := syncCall{n: n, life: n.life, acked: l.acked, protected: len(s.protected)}
	if n.status.State == zab.Leading {
		if n.core.Sync(0, l.token) == nil {
			l.tokens[l.token] = call
		}
		n.drain()
		return
	}
	for _, e := range n.ends {
		if e.peer == nil || e.peer.dead || e.peer.n.id != n.status.Leader {
			continue
		}
		token, from := l.token, e
		l.tokens[token] = call
		s.net.queue(from, func() {
			if to := from.peer; !to.dead && to.n.up && to.n.life == to.life {
				_ = to.n.core.Sync(to.id, token) // a server that does not lead gives no answer
				to.n.drain()
			}
		})
		return
	}
}
