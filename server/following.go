package server

import (
	"encoding/binary"
	"net/netip"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// following is the role of a follower or observer: it forwards what its clients, and observers that learn from it, want to the leader, and finds whom to answer
// when the txn comes back. Owned by the node goroutine. Source: quorum-protocol 8.
//
// Invariant: pending holds, for each session, what was forwarded or decided here and is not answered, in the order of the
// client. A committed txn belongs to the first of them or to nobody here.
type following struct {
	m       *member
	link    *peers.Link // to the leader, or of an observer to its master
	pending map[proto.SessionID]*fifo[forwarded]
	syncs   fifo[syncer] // whose sync the leader answers next
	renewed map[proto.SessionID]*resumption
	below   *observers // that learn from this server

	refuses  bool                       // the leader refuses writes, because there is no room for them: see room.go
	answered fifo[answeredSync]         // syncs that wait for the txns before them
	scratch  struct{ data, ids []byte } // of the packet that is being made
}

// forwarded is a request that is not answered yet.
type forwarded struct {
	item    item
	create2 []int32
	here    bool // decided here: it is answered as soon as it is the first
	// after is what the leader had proposed when the client came to this server. What it asked for elsewhere before may still be
	// committed, under the same xid.
	after proto.Zxid
}

// syncer is who has asked for a sync: a session of this server, or one of an observer.
type syncer struct {
	session proto.SessionID
	link    *peers.Link // of the observer, nil if it is here
}

// answeredSync is a sync that the leader has answered when all up to after had been committed.
type answeredSync struct {
	session proto.SessionID
	after   proto.Zxid
}

func newFollowing(m *member) *following {
	f := &following{m: m, pending: map[proto.SessionID]*fifo[forwarded]{}, renewed: map[proto.SessionID]*resumption{}}
	f.below = newObservers(f)
	for _, l := range m.links {
		if l != nil && l.Peer == m.status.Master && l.Dialled {
			f.link = l
		}
	}
	m.srv.tracker.follow()
	return f
}

// request implements role.
func (f *following) request(b *batch, r *request) bool {
	s := f.m.srv
	if r.session == nil { // the server's own, which only a leader has
		return true
	}
	it := item{conn: r.conn, session: r.session, received: b.received, xid: r.xid, op: r.op}
	if r.conn == nil && endsLocally(r) { // it has expired
		f.m.answer(localEnd(r, b.received))
		return true
	}
	if r.conn == nil || f.link == nil {
		it.drop = true
		if r.conn != nil {
			f.m.answer(it)
		}
		return true
	}
	body := r.body.of(b.buf)
	w := forwarded{item: it, after: r.session.after}
	switch {
	case r.session.closing.Load():
		w.here, w.item.drop = true, true
	case r.op != proto.OpCloseSession && r.op != proto.OpCreateSession && r.op != proto.OpSync && f.noRoom():
		w.here, w.item.err = true, proto.ErrNotReadOnly
		s.metrics.refusedDiskFull.Inc()
	case s.waitedTooLong(r.op, b.received):
		w.here, w.item.err = true, proto.ErrThrottledOp
		s.metrics.throttledOps.Inc()
	case endsLocally(r):
		w.here = true
	case s.cfg.EagerACLCheck && f.pending[r.session.id] == nil && s.forbidden(r.op, body, r.ids):
		w.here, w.item.err = true, proto.ErrNoAuth
	case mustUpgrade(r.session, r.op, body):
		if !s.cfg.LocalSessionsUpgradingEnabled {
			w.here, w.item.err = true, proto.ErrEphemeralOnLocalSession
			break
		}
		f.upgrade(r.session)
	}
	f.m.release(r)
	if !w.here {
		f.forward(&w, r, body)
	}
	q := f.queue(r.session.id)
	q.push(w)
	if q.len() == 1 && w.here {
		f.release(r.session.id, q, f.answer)
	}
	return true
}

// queue is what is pending of a session.
func (f *following) queue(id proto.SessionID) *fifo[forwarded] {
	q := f.pending[id]
	if q == nil {
		q = &fifo[forwarded]{}
		f.pending[id] = q
	}
	return q
}

// upgrade makes a local session global, ahead of the request that needs it.
func (f *following) upgrade(s *session) {
	r := request{session: s, op: proto.OpCreateSession}
	w := forwarded{item: item{session: s, op: proto.OpCreateSession}}
	f.forward(&w, &r, proto.AppendInt32(nil, s.timeoutMs.Load()))
	f.queue(s.id).push(w)
	f.m.srv.tracker.makeGlobal(s.id)
}

// forward sends a request to the leader.
func (f *following) forward(w *forwarded, r *request, body []byte) {
	switch r.op {
	case proto.OpSync:
		f.syncs.push(syncer{session: r.session.id})
	case proto.OpMulti:
		w.create2 = datatree.Create2Slots(nil, body)
	case proto.OpCloseSession:
		r.session.closing.Store(true)
	}
	d := f.scratch.data[:0]
	d = binary.BigEndian.AppendUint64(d, uint64(r.session.id))
	d = binary.BigEndian.AppendUint32(d, uint32(r.xid))
	d = binary.BigEndian.AppendUint32(d, uint32(r.op))
	f.scratch.data = append(d, body...)
	p := peers.Packet{Type: proto.PacketRequest, Zxid: -1, Data: f.scratch.data}
	if r.op != proto.OpCreateSession {
		f.scratch.ids = appendIdentities(f.scratch.ids[:0], r.ids)
		p.Authinfo = f.scratch.ids
	}
	f.link.SendPacket(&p)
	f.m.touch(f.link)
}

// packet implements role.
func (f *following) packet(l *peers.Link, p *peers.Packet) {
	if l != f.link {
		f.below.packet(l, p)
		return
	}
	switch p.Type {
	case proto.PacketRevalidate:
		r := proto.NewReader(p.Data)
		id, valid := proto.SessionID(r.Int64()), r.Bool()
		if w := f.renewed[id]; w != nil {
			delete(f.renewed, id)
			f.renew(w, valid, p.Zxid)
			return
		}
		f.below.revalidated(id, valid, p)
	case proto.PacketPing:
		f.refuses = saysNoRoom(p.Data)
		f.giveUp()
	case proto.PacketSync:
		if f.syncs.len() == 0 {
			f.m.srv.log.Warn("the leader answers a sync that nobody has asked for")
			return
		}
		who := *f.syncs.front()
		f.syncs.pop()
		if who.link != nil {
			f.below.behind(who.link, &peers.Packet{Type: proto.PacketSync})
			return
		}
		f.answered.push(answeredSync{session: who.session, after: f.m.committed})
		f.release(0, nil, f.answer)
	}
}

// resume implements role: only the leader knows whether the session still lives.
func (f *following) resume(r *resumption) {
	if f.link == nil {
		r.conn.abort()
		return
	}
	if old := f.renewed[r.id]; old != nil {
		old.conn.abort() // the newer connection of a client counts
	}
	f.renewed[r.id], r.asked = r, f.m.srv.clock.now()
	data := proto.AppendInt32(proto.AppendInt64(nil, int64(r.id)), r.timeoutMs)
	f.link.SendPacket(&peers.Packet{Type: proto.PacketRevalidate, Zxid: -1, Data: data})
	f.m.touch(f.link)
}

// giveUp sends the clients away of whose sessions the leader says nothing. A leader does not answer while it does not know whether it still
// leads, and not later either, when it has found that it does: see lease.go. The client asks another server, or this one again.
func (f *following) giveUp() {
	limit := f.m.srv.clock.now() - int64(f.m.lease.length)
	for id, r := range f.renewed {
		if r.asked < limit {
			delete(f.renewed, id)
			r.conn.abort()
		}
	}
	f.below.giveUp(limit)
}

// renew answers a client that came back when the leader had proposed all up to proposed. A Java leader does not say it, but whatever
// it had told the client's last server to be committed came here before.
func (f *following) renew(r *resumption, valid bool, proposed proto.Zxid) {
	if !valid {
		r.conn.resumed(nil, nil, 0)
		return
	}
	f.below.came(r.id)
	s, old := f.m.srv.tracker.adopt(r.id, r.timeoutMs, r.conn)
	s.after = max(s.after, proposed, f.m.seen)
	r.conn.resumed(s, old, r.timeoutMs)
}

// calm implements role.
func (f *following) calm() bool {
	return len(f.pending) <= calmMax && f.m.seen <= f.m.committed+calmMax
}

// flush implements role: what was forwarded leaves with the turn.
func (f *following) flush() {}

// synced implements role: the core of a learner answers no syncs.
func (f *following) synced([]uint64) {}

// deliver implements role.
func (f *following) deliver(txns []zab.Txn, out func(zab.Txn, item, []int32)) {
	give := func(it item) { out(zab.Txn{}, it, nil) }
	for _, t := range txns {
		r := proto.NewReader(t.Payload)
		var h proto.TxnHeader
		h.Decode(&r)
		f.m.delivered = t.Zxid
		if h.Type == proto.OpCloseSession {
			f.below.ended(h.ClientID)
		}
		q := f.pending[h.ClientID]
		if q == nil || !q.front().became(&h) {
			out(t, item{op: h.Type}, nil)
		} else {
			w := q.front()
			out(t, w.item, w.create2)
			q.pop()
			f.release(h.ClientID, q, give)
		}
		if f.answered.len() > 0 {
			f.release(0, nil, give)
		}
	}
}

// became reports whether the txn with this header is that of the request.
func (w *forwarded) became(h *proto.TxnHeader) bool {
	return w.item.became(h) && h.Zxid > w.after && !w.here && w.item.op != proto.OpSync
}

// answer gives one answer to the applier.
func (f *following) answer(it item) { f.m.answer(it) }

// release answers what may be answered now: syncs whose txns are delivered, and in the queue q of a session what was decided
// here and is the first.
func (f *following) release(session proto.SessionID, q *fifo[forwarded], out func(item)) {
	for q != nil && q.len() > 0 && q.front().here {
		out(q.front().item)
		q.pop()
	}
	if q != nil && q.len() == 0 {
		delete(f.pending, session)
	}
	for f.answered.len() > 0 && f.answered.front().after <= f.m.delivered {
		s := f.answered.front().session
		f.answered.pop()
		q := f.pending[s]
		if q == nil || q.len() == 0 || q.front().item.op != proto.OpSync {
			f.m.srv.log.Error("a sync is answered out of its order", zap.Stringer("session_id", s))
			continue
		}
		out(q.front().item)
		q.pop()
		f.release(s, q, out)
	}
}

// end implements role.
func (f *following) end() {
	var items []item
	for _, q := range f.pending {
		for ; q.len() > 0; q.pop() {
			it := q.front().item
			it.drop = true
			items = append(items, it)
		}
	}
	if len(items) > 0 {
		f.m.answer(items...)
	}
	for _, r := range f.renewed {
		r.conn.abort()
	}
	f.m.srv.tracker.follow()
}

// appendIdentities appends what a connection has proved, as REQUEST carries it.
func appendIdentities(b []byte, ids []datatree.Identity) []byte {
	b = proto.AppendInt32(b, int32(len(ids)))
	for i := range ids {
		b = proto.AppendString(b, ids[i].Scheme)
		b = proto.AppendString(b, ids[i].ID)
	}
	return b
}

// decodeForwarded reads the data of REQUEST. peers has checked that the fixed part is there.
func decodeForwarded(p *peers.Packet, w *write) error {
	w.session = proto.SessionID(binary.BigEndian.Uint64(p.Data))
	w.xid = int32(binary.BigEndian.Uint32(p.Data[8:]))
	w.op = proto.OpCode(binary.BigEndian.Uint32(p.Data[12:]))
	w.body = p.Data[16:]
	ids, err := p.Identities()
	if err != nil {
		return err
	}
	w.ids = make([]datatree.Identity, len(ids))
	for i, id := range ids {
		w.ids[i] = forwardedIdentity(id.Scheme.String(), id.Id.String())
	}
	return nil
}

// forwardedIdentity is the identity that a learner vouches for. The servers of an ensemble trust each other.
func forwardedIdentity(scheme, id string) datatree.Identity {
	switch scheme {
	case datatree.SchemeIP:
		if addr, err := netip.ParseAddr(id); err == nil {
			return datatree.NewIPIdentity(addr)
		}
	case datatree.SchemeSASL:
		return datatree.NewSASLIdentity(id, "")
	}
	return datatree.Identity{Scheme: scheme, ID: id}
}
