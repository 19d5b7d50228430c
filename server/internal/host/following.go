package host

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/host/observers"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// following is the role of a follower or an observer. It forwards the requests of its clients, and of observers
// that learn from it, to the leader. When the txn comes back it finds the client to answer. Owned by the host
// goroutine. Source: quorum-protocol 8.
//
// Invariant: pending holds, for each session, the requests that were forwarded or decided here and are not
// answered, in the order in which the client sent them. A committed txn belongs to the first of them, or to no
// request of this server.
type following struct {
	m       *Host
	link    *link // to the leader; of an observer: to its master
	pending map[proto.SessionID]*flow.FIFO[forwarded]
	syncs   flow.FIFO[syncer]                    // forwarded syncs, in the order in which the leader answers them
	renewed map[proto.SessionID]*flow.Resumption // clients that came back, until the leader answers REVALIDATE
	// questions is how many of them the leader was asked, for this server and for observers of it.
	questions int64
	back      flow.FIFO[returned] // those that the leader has confirmed, until they may go on
	below     *observers.Master   // observers that learn from this server

	epoch   int64 // of the leader
	looked  int64 // when leaveDeaf looked last, ns on the server's clock
	holding bool  // the leader prepares a handover: requests of clients of this server wait
	handed  bool  // the leader has handed over while this server held its requests

	refuses  bool                       // the leader refuses writes for lack of room
	answered flow.FIFO[answeredSync]    // syncs that wait for the txns before them
	scratch  struct{ data, ids []byte } // memory for the packet being encoded
}

// forwarded is a request that is not answered yet.
type forwarded struct {
	item    flow.Item
	create2 []int32
	here    bool // decided here: it is answered as soon as it is the first of its queue
	// kept says that body and ids are those of the request, so that the next leader can be asked, and that what the
	// request has reserved of Env.Large is not given back.
	kept bool
	body kept.Body
	ids  []auth.Identity
	// after is the newest zxid that the leader had proposed when the client came to this server. Requests that the
	// client sent to another server before may still be committed, with the same xid.
	after proto.Zxid
}

// syncer is the origin of a sync: a session of this server, or a session of an observer.
type syncer struct {
	session proto.SessionID
	link    *peers.Link // to the observer; nil for a session of this server
}

// answeredSync is a sync that the leader has answered. It is answered to the client when all txns up to after are
// delivered.
type answeredSync struct {
	session proto.SessionID
	after   proto.Zxid
}

func newFollowing(m *Host) *following {
	f := &following{m: m, epoch: m.status.Epoch, pending: map[proto.SessionID]*flow.FIFO[forwarded]{},
		renewed: map[proto.SessionID]*flow.Resumption{}}
	for _, l := range m.links.inOrder() {
		if l.Peer == m.status.Master && l.Dialled {
			f.link = l
		}
	}
	f.below = observers.New(f.needs())
	m.Tracker.Follow()
	m.Store.Mu.RLock()
	m.Tracker.PassOver(m.Store.State.EachSession)
	m.Store.Mu.RUnlock()
	return f
}

// needs is what the observers that learn from this server need of it.
func (f *following) needs() observers.Needs {
	m := f.m
	return observers.Needs{
		Forward: func(p *peers.Packet) {
			if p.Type == proto.PacketRevalidate {
				r := proto.NewReader(p.Data)
				m.Tracker.Claim(proto.SessionID(r.Int64()))
			}
			f.link.SendPacket(p)
			m.links.touch(f.link)
		},
		Question: f.question,
		Send:     func(l *peers.Link, p *peers.Packet) { l.SendPacket(p) }, // and send touches l
		Syncs:    func(id proto.SessionID, l *peers.Link) { f.syncs.Push(syncer{session: id, link: l}) },
		Answer:   func(id zab.LinkID, token uint64) { m.member.Answer(id, token) },
		IsOpen: func(l *peers.Link) bool {
			open := m.links.open[l.ID]
			return open != nil && open.Link == l
		},
		Close:    func(id zab.LinkID) { m.peers.Close(id) },
		Sessions: m.Tracker, Now: m.Clock.Now, Log: m.Log,
		LeaderIsWarren: f.link != nil && f.link.warren,
		QueueMax:       m.masterQueue(),
	}
}

// request implements role.
func (f *following) request(b *flow.Batch, r *flow.Request) bool {
	m := f.m
	if r.Session == nil { // the server's own request, which only a leader handles
		return true
	}
	if f.holding && r.Client != nil {
		return false
	}
	it := flow.Item{Client: r.Client, Session: r.Session, Received: b.Received, Taken: m.measured(), Xid: r.Xid,
		Op: r.Op, Forwarded: true}
	if r.Client == nil && endsLocally(r) { // the session has expired
		f.m.answer(localEnd(r, b.Received))
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
	code, drop := m.verdict(&verdictInput{client: r.Client != nil, session: r.Session, op: r.Op, at: b.Received,
		noRoom: f.noRoom()})
	switch {
	case drop:
		w.here, w.item.Drop = true, true
	case code != proto.OK:
		w.here, w.item.Err = true, code
	case endsLocally(r):
		w.here = true
	case m.Config.EagerACLCheck && f.pending[r.Session.ID] == nil && m.forbidden(r.Op, body, r.IDs):
		w.here, w.item.Err = true, proto.ErrNoAuth
	case mustUpgrade(r.Session, r.Op, body):
		if !m.Config.LocalSessionsUpgradingEnabled {
			w.here, w.item.Err = true, proto.ErrEphemeralOnLocalSession
			break
		}
		f.upgrade(r.Session)
	}
	if m.Config.ConnectionKeep > 0 && m.noting == f.link.ID && r.Op != proto.OpCreateSession {
		w.kept, w.body, w.ids = true, m.pending.Keep(body), r.IDs
	} else {
		m.release(r)
	}
	if !w.here {
		f.forward(&w, r, body)
	}
	q := flow.QueueOf(f.pending, r.Session.ID)
	q.Push(w)
	if q.Len() == 1 && w.here {
		f.answer(r.Session.ID, q)
	}
	return true
}

// noRoom reports whether this server refuses writes without asking the leader.
func (f *following) noRoom() bool {
	m := f.m
	full := m.Guard.Full()
	return f.refuses || full && (!f.link.warren || m.Guard.Stuck())
}

// upgrade makes a local session global, before the request that needs a global session.
func (f *following) upgrade(s *sessions.Session) {
	r := flow.Request{Session: s, Op: proto.OpCreateSession}
	w := forwarded{item: flow.Item{Session: s, Op: proto.OpCreateSession}}
	f.forward(&w, &r, proto.AppendInt32(nil, s.TimeoutMs()))
	flow.QueueOf(f.pending, s.ID).Push(w)
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
	if f.m.Config.LocalSessionsEnabled && !r.Session.IsLocal() {
		p.Zxid = peers.GlobalZxid
	}
	if r.Op != proto.OpCreateSession {
		f.scratch.ids = appendIdentities(f.scratch.ids[:0], r.IDs)
		p.Authinfo = f.scratch.ids
	}
	f.link.SendPacket(&p)
	f.m.links.touch(f.link)
}

// Packet implements role.
func (f *following) Packet(l *link, p *peers.Packet) {
	if l != f.link {
		if f.link != nil && l.learner() {
			f.below.Packet(l.Link, l.warren, p)
		}
		return
	}
	switch p.Type {
	case proto.PacketRevalidate:
		a := peers.DecodeRevalidated(p, l.warren)
		if w := f.renewed[a.Session]; w != nil && (a.Question == 0 || a.Question == w.Question) {
			delete(f.renewed, a.Session)
			f.renew(w, &a)
			return
		}
		f.below.Revalidated(&a)
	case peers.PacketReclaim:
		f.granted(p)
	case peers.PacketHold:
		f.holding = true
		l.SendPacket(&peers.Packet{Type: peers.PacketHold, Zxid: -1})
		f.m.links.touch(l)
	case peers.PacketUnhold:
		f.holding = false
	case peers.PacketMoved:
		r := proto.NewReader(p.Data)
		f.moved(proto.SessionID(r.Int64()))
	case proto.PacketPing:
		f.refuses = saysNoRoom(p.Data)
		f.giveUp()
	case proto.PacketSync:
		if f.syncs.Len() == 0 {
			f.m.Log.Warn("ignoring the leader's answer to a sync: no sync waits for one")
			return
		}
		origin := *f.syncs.Front()
		f.syncs.Pop()
		if origin.link != nil {
			f.below.AnswerInOrder(origin.link, &peers.Packet{Type: proto.PacketSync})
			return
		}
		f.answered.Push(answeredSync{session: origin.session, after: f.m.reach.committed})
		f.answer(0, nil)
	}
}

// moved notes that another server has the client of a session.
func (f *following) moved(id proto.SessionID) {
	f.m.Tracker.Moved(id)
	for i := range f.back.Len() {
		if r := f.back.At(i); r.ID == id {
			r.moved = true
		}
	}
}

// resume implements role: only the leader knows whether the session still lives.
func (f *following) resume(r *flow.Resumption) {
	if f.link == nil {
		r.Client.Abort()
		return
	}
	if old := f.renewed[r.ID]; old != nil {
		old.Client.Abort() // the newer connection of a client counts
	}
	f.renewed[r.ID], r.Asked, r.Question = r, f.m.Clock.Now(), f.question()
	f.m.Tracker.Claim(r.ID)
	f.link.SendPacket(peers.AskRevalidate(r.ID, r.TimeoutMs, r.Question))
	f.m.links.touch(f.link)
}

// question numbers the next question about a session.
func (f *following) question() int64 {
	f.questions++
	return f.questions
}

// giveUp aborts the connections of clients about which the leader does not answer. A leader gives no answer while
// it does not know whether it still leads, and gives none later either, when it knows again: see lease.go. The
// client then asks another server, or this one again.
func (f *following) giveUp() {
	limit := f.m.Clock.Now() - int64(f.m.lease.Length())
	for _, id := range inOrder(f.renewed, cmp.Compare) {
		if r := f.renewed[id]; r.Asked < limit {
			delete(f.renewed, id)
			r.Client.Abort()
		}
	}
	f.below.GiveUp(limit)
}

// returned is a client that came back, and whose session the leader has confirmed. At that time the leader had
// proposed all txns up to proposed.
type returned struct {
	*flow.Resumption
	proposed proto.Zxid
	after    proto.Zxid // the newest txn that this server had heard of by then
	moved    bool       // another server has the client by now
}

// renew answers a client that came back, as soon as this server has all txns up to proposed. A leader in Java does not
// tell this zxid, but every txn that it had committed on the client's last server arrived here before its answer.
func (f *following) renew(r *flow.Resumption, a *peers.Revalidated) {
	if !a.Valid {
		r.Client.Resumed(nil, nil, 0, false)
		return
	}
	r.Whole = a.Question > 0 // otherwise it may be the answer to an earlier question
	now := &f.m.reach
	if f.back.Push(returned{r, a.Proposed, max(a.Proposed, now.seen), false}); a.Proposed <= now.delivered {
		f.delivered(now.delivered)
	}
}

// delivered implements role: clients that came back go on.
func (f *following) delivered(z proto.Zxid) {
	for f.back.Len() > 0 && f.back.Front().proposed <= z {
		r := *f.back.Front()
		f.back.Pop()
		if r.moved {
			r.Client.Abort()
			continue
		}
		f.below.Disown(r.ID)
		s, old := f.m.Tracker.Adopt(r.ID, r.TimeoutMs, r.Client, r.Received)
		s.After = max(s.After, r.after)
		r.Whole = r.Whole && f.link != nil && f.link.ID == f.m.noting
		f.m.goesOn(r.Resumption, s, old)
	}
}

// calm implements role.
func (f *following) calm() bool {
	return len(f.pending) <= calmMax && f.m.reach.seen <= f.m.reach.committed+calmMax
}

// flush implements role: forwarded requests leave with the turn, without it.
func (f *following) flush() {}

// synced implements role: the core of a learner answers no syncs.
func (f *following) synced([]uint64) {}

// deliver implements role.
func (f *following) deliver(txns []zab.Txn, b *flow.ApplyBatch) {
	for _, t := range txns {
		r := proto.NewReader(t.Payload)
		var h proto.TxnHeader
		h.Decode(&r)
		f.m.reach.delivered = t.Zxid
		if h.Type == proto.OpCloseSession {
			f.below.Disown(h.ClientID)
		}
		q := f.pending[h.ClientID]
		if q == nil || !q.Front().became(&h) {
			b.Add(&flow.Item{Op: h.Type}, t.Payload, nil)
			if k := f.m.keeping; k != nil && k.former == f {
				k.Elsewhere(h.ClientID, h.Zxid)
			}
		} else {
			w := q.Front()
			b.Add(&w.item, t.Payload, w.create2)
			f.pop(q)
			f.release(h.ClientID, q, b)
		}
		if f.answered.Len() > 0 {
			f.release(0, nil, b)
		}
	}
}

// became reports whether the txn with this header is the txn of the request.
func (w *forwarded) became(h *proto.TxnHeader) bool {
	return w.item.Became(h) && h.Zxid > w.after && !w.here && w.item.Op != proto.OpSync
}

// answer answers what release finds.
func (f *following) answer(session proto.SessionID, q *flow.FIFO[forwarded]) {
	b := f.m.ApplyPool.Get()
	if f.release(session, q, b); len(b.Items) == 0 {
		f.m.ApplyPool.Put(b)
		return
	}
	f.m.applier.Put(b)
}

// release adds to b the answers that may be given now: those of syncs after the txns before them are delivered, and
// in the queue q of a session those of the first requests if they were decided here.
func (f *following) release(session proto.SessionID, q *flow.FIFO[forwarded], b *flow.ApplyBatch) {
	for q != nil && q.Len() > 0 && q.Front().here {
		b.Add(&q.Front().item, nil, nil)
		f.pop(q)
	}
	if q != nil && q.Len() == 0 {
		delete(f.pending, session)
	}
	for f.answered.Len() > 0 && f.answered.Front().after <= f.m.reach.delivered {
		s := f.answered.Front().session
		f.answered.Pop()
		q := f.pending[s]
		if q == nil || q.Len() == 0 || q.Front().item.Op != proto.OpSync {
			f.m.Log.Error("cannot match the answer to a sync: its session waits for something else",
				zap.Stringer("session_id", s))
			continue
		}
		b.Add(&q.Front().item, nil, nil)
		f.pop(q)
		f.release(s, q, b)
	}
}

// pop removes the first request of a queue, and gives back what it has reserved.
func (f *following) pop(q *flow.FIFO[forwarded]) {
	w := q.Front()
	if w.kept {
		f.m.Large.Release(len(w.body.Data) + proto.RequestHeaderSize)
		f.m.pending.Drop(w.body)
	}
	q.Pop()
}

// end implements role.
func (f *following) end() {
	for _, id := range inOrder(f.pending, cmp.Compare) {
		if _, waits := f.m.kept(id); !waits {
			f.lose(id)
		}
	}
	for _, id := range inOrder(f.renewed, cmp.Compare) {
		f.renewed[id].Client.Unanswered()
	}
	for ; f.back.Len() > 0; f.back.Pop() {
		f.back.Front().Client.Unanswered()
	}
	f.m.silence.followingEnds(f)
	f.m.Tracker.Follow()
}

// owed returns the requests of a session that the leader was given and that are not answered; nil if there are none.
// f is nil in the place of a former leader, which owes nothing.
func (f *following) owed(id proto.SessionID) *flow.FIFO[forwarded] {
	if f == nil {
		return nil
	}
	return f.pending[id]
}

// lose gives up what is owed to a session.
func (f *following) lose(id proto.SessionID) {
	q := f.owed(id)
	if q == nil {
		return
	}
	var items []flow.Item
	for ; q.Len() > 0; f.pop(q) {
		it := q.Front().item
		it.Drop = true
		items = append(items, it)
	}
	delete(f.pending, id)
	f.m.answer(items...)
}

// canAskAgain reports whether the next leader can be asked for all that is owed to a session.
func (f *following) canAskAgain(id proto.SessionID) bool {
	q := f.owed(id)
	for i := 0; q != nil && i < q.Len(); i++ {
		if !q.At(i).kept {
			return false
		}
	}
	return true
}

// askAgain takes back what is owed to a session, to be taken as if it had just arrived.
func (f *following) askAgain(id proto.SessionID) (all []*flow.Batch) {
	q := f.owed(id)
	if q == nil {
		return nil
	}
	m := f.m
	for ; q.Len() > 0; q.Pop() {
		w := q.Front()
		b := m.RequestPool.Get()
		b.Received = w.item.Received
		b.Add(flow.Request{Client: w.item.Client, Session: w.item.Session, IDs: w.ids, Xid: w.item.Xid, Op: w.item.Op},
			w.body.Data)
		m.pending.Drop(w.body)
		all = append(all, b)
	}
	delete(f.pending, id)
	return all
}

// inOrder returns the keys of a map in an order that does not depend on the run, for what others can see: the same
// input makes the same output.
func inOrder[K comparable, V any](m map[K]V, order func(a, b K) int) []K {
	if len(m) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(m), order)
}

// appendIdentities appends the identities of a connection, in the form of REQUEST.
func appendIdentities(b []byte, ids []auth.Identity) []byte {
	b = proto.AppendInt32(b, int32(len(ids)))
	for i := range ids {
		b = proto.AppendString(b, ids[i].Scheme)
		b = proto.AppendString(b, ids[i].ID)
	}
	return b
}

// decodeForwarded reads the data of REQUEST. Package peers has checked that the fixed part is there. anyUser is that
// of auth.NewSASLIdentity: as in ZooKeeper the setting of the leader counts.
func decodeForwarded(p *peers.Packet, w *write, anyUser string) error {
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
		w.ids[i] = forwardedIdentity(id.Scheme.String(), id.Id.String(), anyUser)
	}
	return nil
}

// forwardedIdentity is an identity that a learner has sent. The servers of an ensemble trust each other.
func forwardedIdentity(scheme, id, anyUser string) auth.Identity {
	switch scheme {
	case auth.SchemeIP:
		if addr, err := netip.ParseAddr(id); err == nil {
			return auth.NewIPIdentity(addr)
		}
	case auth.SchemeSASL:
		return auth.NewSASLIdentity(id, anyUser)
	}
	return auth.Identity{Scheme: scheme, ID: id}
}

// forbidden reports whether this server knows that the client has no permission for a write, so that the leader
// need not be asked: enableEagerACLCheck. The leader decides everything else, and checks permissions again. The
// state here is only as new as this server's last applied txn, so it does not decide for a session with writes in
// flight. Source: server-semantics 9.6.
func (m *Host) forbidden(op proto.OpCode, body []byte, ids []auth.Identity) bool {
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
	m.Store.Mu.RLock()
	defer m.Store.Mu.RUnlock()
	id := m.Store.State.Lookup(path)
	return id != 0 && !m.Allows(m.Store.State.Node(id).ACL, perm, ids)
}
