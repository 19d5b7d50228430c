package host

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// following is the role of a follower or observer: it forwards what its clients, and observers that learn from it, want to the leader, and finds whom to answer
// when the txn comes back. Owned by the node goroutine. Source: quorum-protocol 8.
//
// Invariant: pending holds, for each session, what was forwarded or decided here and is not answered, in the order of the
// client. A committed txn belongs to the first of them or to nobody here.
type following struct {
	m       *Host
	link    *peers.Link // to the leader, or of an observer to its master
	pending map[proto.SessionID]*flow.FIFO[forwarded]
	syncs   flow.FIFO[syncer] // whose sync the leader answers next
	renewed map[proto.SessionID]*flow.Resumption
	below   *observers // that learn from this server

	refuses  bool                       // the leader refuses writes, because there is no room for them: see room.go
	answered flow.FIFO[answeredSync]    // syncs that wait for the txns before them
	scratch  struct{ data, ids []byte } // of the packet that is being made
}

// forwarded is a request that is not answered yet.
type forwarded struct {
	item    flow.Item
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

func newFollowing(m *Host) *following {
	f := &following{m: m, pending: map[proto.SessionID]*flow.FIFO[forwarded]{},
		renewed: map[proto.SessionID]*flow.Resumption{}}
	f.below = newObservers(f)
	for _, l := range m.links {
		if l != nil && l.Peer == m.status.Master && l.Dialled {
			f.link = l
		}
	}
	m.Tracker.Follow()
	return f
}

// request implements role.
func (f *following) request(b *flow.Batch, r *flow.Request) bool {
	s := f.m
	if r.Session == nil { // the server's own, which only a leader has
		return true
	}
	it := flow.Item{Client: r.Client, Session: r.Session, Received: b.Received, Xid: r.Xid, Op: r.Op}
	if r.Client == nil && endsLocally(r) { // it has expired
		f.m.answer(localEnd(r, b.Received))
		return true
	}
	if r.Client == nil && f.link != nil && s.Weak(weakness.ExpiryByFollower) {
		f.forward(&forwarded{}, r, nil)
		return true
	}
	if r.Client == nil || f.link == nil {
		it.Drop = true
		if r.Client != nil {
			f.m.answer(it)
		}
		return true
	}
	body := r.Body.Of(b.Buf)
	w := forwarded{item: it, after: r.Session.After}
	code, drop := s.verdict(&asked{client: r.Client != nil, session: r.Session, op: r.Op, at: b.Received, noRoom: f.noRoom()})
	switch {
	case drop:
		w.here, w.item.Drop = true, true
	case code != proto.OK:
		w.here, w.item.Err = true, code
	case endsLocally(r):
		w.here = true
	case s.Config.EagerACLCheck && f.pending[r.Session.ID] == nil && s.forbidden(r.Op, body, r.IDs):
		w.here, w.item.Err = true, proto.ErrNoAuth
	case mustUpgrade(r.Session, r.Op, body):
		if !s.Config.LocalSessionsUpgradingEnabled {
			w.here, w.item.Err = true, proto.ErrEphemeralOnLocalSession
			break
		}
		f.upgrade(r.Session)
	}
	if f.m.Weak(weakness.ForwardDropped) && r.Op == proto.OpSetData && !w.here && f.m.Runtime.Uint64()%16 == 0 {
		w.here = true
	}
	f.m.release(r)
	if !w.here {
		f.forward(&w, r, body)
	}
	q := f.queue(r.Session.ID)
	q.Push(w)
	if q.Len() == 1 && w.here {
		f.release(r.Session.ID, q, f.answer)
	}
	return true
}

// queue is what is pending of a session.
func (f *following) queue(id proto.SessionID) *flow.FIFO[forwarded] {
	q := f.pending[id]
	if q == nil {
		q = &flow.FIFO[forwarded]{}
		f.pending[id] = q
	}
	return q
}

// upgrade makes a local session global, ahead of the request that needs it.
func (f *following) upgrade(s *sessions.Session) {
	r := flow.Request{Session: s, Op: proto.OpCreateSession}
	w := forwarded{item: flow.Item{Session: s, Op: proto.OpCreateSession}}
	f.forward(&w, &r, proto.AppendInt32(nil, s.TimeoutMs()))
	f.queue(s.ID).Push(w)
	f.m.Tracker.MakeGlobal(s.ID)
}

// forward sends a request to the leader.
func (f *following) forward(w *forwarded, r *flow.Request, body []byte) {
	switch r.Op {
	case proto.OpSync:
		f.syncs.Push(syncer{session: r.Session.ID})
	case proto.OpMulti:
		w.create2 = prepare.Create2Slots(nil, body)
	case proto.OpCloseSession:
		r.Session.SetClosing()
	}
	d := f.scratch.data[:0]
	d = binary.BigEndian.AppendUint64(d, uint64(r.Session.ID))
	d = binary.BigEndian.AppendUint32(d, uint32(r.Xid))
	d = binary.BigEndian.AppendUint32(d, uint32(r.Op))
	f.scratch.data = append(d, body...)
	p := peers.Packet{Type: proto.PacketRequest, Zxid: -1, Data: f.scratch.data}
	if r.Op != proto.OpCreateSession {
		f.scratch.ids = appendIdentities(f.scratch.ids[:0], r.IDs)
		p.Authinfo = f.scratch.ids
	}
	f.link.SendPacket(&p)
	f.m.touch(f.link)
}

// Packet implements role.
func (f *following) Packet(l *peers.Link, p *peers.Packet) {
	if l != f.link {
		f.below.Packet(l, p)
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
		if f.syncs.Len() == 0 {
			f.m.Log.Warn("the leader answers a sync that nobody has asked for")
			return
		}
		who := *f.syncs.Front()
		f.syncs.Pop()
		if who.link != nil {
			f.below.behind(who.link, &peers.Packet{Type: proto.PacketSync})
			return
		}
		after := f.m.committed
		if f.m.Weak(weakness.SyncOvertakes) {
			after = 0
		}
		f.answered.Push(answeredSync{session: who.session, after: after})
		f.release(0, nil, f.answer)
	}
}

// resume implements role: only the leader knows whether the session still lives.
func (f *following) resume(r *flow.Resumption) {
	if f.link == nil {
		r.Client.Abort()
		return
	}
	if f.m.Weak(weakness.RevalidationSkipped) {
		f.renew(r, true, f.m.seen)
		return
	}
	if old := f.renewed[r.ID]; old != nil {
		old.Client.Abort() // the newer connection of a client counts
	}
	f.renewed[r.ID], r.Asked = r, f.m.Clock.Now()
	data := proto.AppendInt32(proto.AppendInt64(nil, int64(r.ID)), r.TimeoutMs)
	f.link.SendPacket(&peers.Packet{Type: proto.PacketRevalidate, Zxid: -1, Data: data})
	f.m.touch(f.link)
}

// giveUp sends the clients away of whose sessions the leader says nothing. A leader does not answer while it does not know whether it still
// leads, and not later either, when it has found that it does: see lease.go. The client asks another server, or this one again.
func (f *following) giveUp() {
	limit := f.m.Clock.Now() - int64(f.m.lease.length)
	for id, r := range f.renewed {
		if r.Asked < limit {
			delete(f.renewed, id)
			r.Client.Abort()
		}
	}
	f.below.giveUp(limit)
}

// renew answers a client that came back when the leader had proposed all up to proposed. A Java leader does not say it, but whatever
// it had told the client's last server to be committed came here before.
func (f *following) renew(r *flow.Resumption, valid bool, proposed proto.Zxid) {
	if !valid {
		r.Client.Resumed(nil, nil, 0)
		return
	}
	f.below.came(r.ID)
	s, old := f.m.Tracker.Adopt(r.ID, r.TimeoutMs, r.Client, r.Received)
	s.After = max(s.After, proposed, f.m.seen)
	r.Client.Resumed(s, old, r.TimeoutMs)
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
func (f *following) deliver(txns []zab.Txn, out func(zab.Txn, flow.Item, []int32)) {
	give := func(it flow.Item) { out(zab.Txn{}, it, nil) }
	for _, t := range txns {
		r := proto.NewReader(t.Payload)
		var h proto.TxnHeader
		h.Decode(&r)
		f.m.delivered = t.Zxid
		if h.Type == proto.OpCloseSession {
			f.below.ended(h.ClientID)
		}
		q := f.pending[h.ClientID]
		if q == nil || !q.Front().became(&h) {
			out(t, flow.Item{Op: h.Type}, nil)
		} else {
			w := q.Front()
			out(t, w.item, w.create2)
			q.Pop()
			f.release(h.ClientID, q, give)
		}
		if f.answered.Len() > 0 {
			f.release(0, nil, give)
		}
	}
}

// became reports whether the txn with this header is that of the request.
func (w *forwarded) became(h *proto.TxnHeader) bool {
	return w.item.Became(h) && h.Zxid > w.after && !w.here && w.item.Op != proto.OpSync
}

// answer gives one answer to the applier.
func (f *following) answer(it flow.Item) { f.m.answer(it) }

// release answers what may be answered now: syncs whose txns are delivered, and in the queue q of a session what was decided
// here and is the first.
func (f *following) release(session proto.SessionID, q *flow.FIFO[forwarded], out func(flow.Item)) {
	for q != nil && q.Len() > 0 && q.Front().here {
		out(q.Front().item)
		q.Pop()
	}
	if q != nil && q.Len() == 0 {
		delete(f.pending, session)
	}
	for f.answered.Len() > 0 && f.answered.Front().after <= f.m.delivered {
		s := f.answered.Front().session
		f.answered.Pop()
		q := f.pending[s]
		if q == nil || q.Len() == 0 || q.Front().item.Op != proto.OpSync {
			f.m.Log.Error("a sync is answered out of its order", zap.Stringer("session_id", s))
			continue
		}
		out(q.Front().item)
		q.Pop()
		f.release(s, q, out)
	}
}

// end implements role.
func (f *following) end() {
	var items []flow.Item
	for _, q := range f.pending {
		for ; q.Len() > 0; q.Pop() {
			it := q.Front().item
			it.Drop = true
			items = append(items, it)
		}
	}
	if len(items) > 0 {
		f.m.answer(items...)
	}
	for _, r := range f.renewed {
		r.Client.Abort()
	}
	f.m.Tracker.Follow()
}

// appendIdentities appends what a connection has proved, as REQUEST carries it.
func appendIdentities(b []byte, ids []auth.Identity) []byte {
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
	w.ids = make([]auth.Identity, len(ids))
	for i, id := range ids {
		w.ids[i] = forwardedIdentity(id.Scheme.String(), id.Id.String())
	}
	return nil
}

// forwardedIdentity is the identity that a learner vouches for. The servers of an ensemble trust each other.
func forwardedIdentity(scheme, id string) auth.Identity {
	switch scheme {
	case auth.SchemeIP:
		if addr, err := netip.ParseAddr(id); err == nil {
			return auth.NewIPIdentity(addr)
		}
	case auth.SchemeSASL:
		return auth.NewSASLIdentity(id, "")
	}
	return auth.Identity{Scheme: scheme, ID: id}
}

// forbidden reports whether a write of a client is known here to have no permission, so that the leader need not be asked:
// enableEagerACLCheck. What cannot be decided here the leader decides, who decides again. The state is as old as this server's, so a
// session that has writes in flight is not judged by it. Source: server-semantics 9.6.
func (s *Host) forbidden(op proto.OpCode, body []byte, ids []auth.Identity) bool {
	r := proto.NewReader(body)
	path := []byte(r.Text())
	if r.Err() != nil || len(path) == 0 {
		return false
	}
	var perm int32
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		perm = proto.PermCreate
	case proto.OpDelete:
		perm = proto.PermDelete
	case proto.OpSetData:
		perm = proto.PermWrite
	case proto.OpSetACL:
		perm = proto.PermAdmin
	default:
		return false
	}
	if perm == proto.PermCreate || perm == proto.PermDelete {
		path = path[:max(bytes.LastIndexByte(path, '/'), 0)]
	}
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	id := s.Store.State.Lookup(path)
	return id != 0 && !s.Allows(s.Store.State.Node(id).ACL, perm, ids)
}
