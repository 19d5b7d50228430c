package host

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/host/observers"
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
	*env.Env
	h       *Host
	link    *link // to the leader; of an observer: to its master
	pending map[proto.SessionID]*flow.FIFO[forwarded]
	syncs   flow.FIFO[syncer]                    // forwarded syncs, in the order in which the leader answers them
	renewed map[proto.SessionID]*flow.Resumption // clients that came back, until the leader answers REVALIDATE
	// questions is how many of them the leader was asked, for this server and for observers of it.
	questions int64
	back      flow.FIFO[returned] // those that the leader has confirmed, until they may go on
	grants    flow.FIFO[grant]    // sessions of kept connections that the leader has granted, until these may go on
	below     *observers.Master   // observers that learn from this server

	epoch   int64 // of the leader when this role began
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

func newFollowing(h *Host) *following {
	f := &following{Env: h.Env, h: h, epoch: h.status.Epoch, pending: map[proto.SessionID]*flow.FIFO[forwarded]{},
		renewed: map[proto.SessionID]*flow.Resumption{}}
	for _, l := range h.links.inOrder() {
		if l.Peer == h.status.Master && l.Dialled {
			f.link = l
		}
	}
	f.below = observers.New(f.needs())
	h.Tracker.Follow()
	h.Store.Mu.RLock()
	h.Tracker.PassOver(h.Store.State.EachSession)
	h.Store.Mu.RUnlock()
	return f
}

// needs is what the observers that learn from this server need of it.
func (f *following) needs() observers.Needs {
	h := f.h
	return observers.Needs{
		Forward: func(p *peers.Packet) {
			if p.Type == proto.PacketRevalidate {
				r := proto.NewReader(p.Data)
				f.claim(proto.SessionID(r.Int64()))
			}
			h.links.send(f.link, p)
		},
		Question: f.question,
		Send:     func(l *peers.Link, p *peers.Packet) { l.SendPacket(p) }, // and send touches l
		Syncs:    func(id proto.SessionID, l *peers.Link) { f.syncs.Push(syncer{session: id, link: l}) },
		Answer:   func(id zab.LinkID, token uint64) { h.member.Answer(id, token) },
		IsOpen: func(l *peers.Link) bool {
			open := h.links.open[l.ID]
			return open != nil && open.Link == l
		},
		Close:    func(id zab.LinkID) { h.peers.Close(id) },
		Sessions: h.Tracker, Now: h.Clock.Now, Log: h.Log,
		LeaderIsWarren: f.link != nil && f.link.warren,
		QueueMax:       h.masterQueue(),
	}
}

// request implements role.
func (f *following) request(b *flow.Batch, r *flow.Request) bool {
	h := f.h
	if r.Session == nil { // the server's own request, which only a leader handles
		return true
	}
	if f.holding && r.Client != nil {
		return false
	}
	it := flow.Item{Client: r.Client, Session: r.Session, Received: b.Received, Taken: measured(h.Env), Xid: r.Xid,
		Op: r.Op, Forwarded: true}
	if r.Client == nil && endsLocally(r) { // the session has expired
		f.h.answer(localEnd(r, b.Received))
		return true
	}
	if r.Client == nil || f.link == nil {
		it.Drop = true
		if r.Client != nil {
			f.h.answer(it)
		}
		return true
	}
	body := r.Body.Of(b.Buf)
	w := forwarded{item: it, after: r.Session.After}
	code, drop := verdict(h.Env, &verdictInput{client: r.Client != nil, session: r.Session, op: r.Op, at: b.Received,
		noRoom: f.noRoom()})
	switch {
	case drop:
		w.here, w.item.Drop = true, true
	case code != proto.OK:
		w.here, w.item.Err = true, code
	case endsLocally(r):
		w.here = true
	case h.Config.EagerACLCheck && f.pending[r.Session.ID] == nil && f.forbidden(r.Op, body, r.IDs):
		w.here, w.item.Err = true, proto.ErrNoAuth
	case mustUpgrade(r.Session, r.Op, body):
		if !h.Config.LocalSessionsUpgradingEnabled {
			w.here, w.item.Err = true, proto.ErrEphemeralOnLocalSession
			break
		}
		f.upgrade(r.Session)
	}
	if h.Config.ConnectionKeep > 0 && h.noting == f.link.ID && r.Op != proto.OpCreateSession {
		w.kept, w.body, w.ids = true, h.pending.Keep(body), r.IDs
	} else {
		h.release(r)
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
	if f.Config.LocalSessionsEnabled && !r.Session.IsLocal() {
		p.Zxid = peers.GlobalZxid
	}
	if r.Op != proto.OpCreateSession {
		f.scratch.ids = appendIdentities(f.scratch.ids[:0], r.IDs)
		p.Authinfo = f.scratch.ids
	}
	f.h.links.send(f.link, &p)
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
		f.h.links.send(l, &peers.Packet{Type: peers.PacketHold, Zxid: -1})
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
			f.Log.Warn("ignoring the leader's answer to a sync: no sync waits for one")
			return
		}
		origin := *f.syncs.Front()
		f.syncs.Pop()
		if origin.link != nil {
			f.below.AnswerInOrder(origin.link, &peers.Packet{Type: proto.PacketSync})
			return
		}
		f.answered.Push(answeredSync{session: origin.session, after: f.h.reach.committed})
		f.answer(0, nil)
	}
}

// refusesWrites implements role.
func (f *following) refusesWrites() bool { return f.refuses }

// calm implements role.
func (f *following) calm() bool {
	return len(f.pending) <= calmMax && f.h.reach.seen <= f.h.reach.committed+calmMax
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
		f.h.reach.delivered = t.Zxid
		if h.Type == proto.OpCloseSession {
			f.ended(h.ClientID)
		}
		asked := f.h.keeping.asked(f, h.ClientID)
		q := asked.pending[h.ClientID]
		if q != nil && f.h.keeping.former == asked {
			asked.skipSyncs(&h, q, b)
		}
		if q == nil || !q.Front().became(&h) {
			b.Add(&flow.Item{Op: h.Type}, t.Payload, nil)
			if k := f.h.keeping.now; k != nil {
				k.Elsewhere(h.ClientID, h.Zxid)
			}
		} else {
			w := q.Front()
			b.Add(&w.item, t.Payload, w.create2)
			asked.pop(q)
			asked.release(h.ClientID, q, b)
		}
		if f.answered.Len() > 0 {
			f.release(0, nil, b)
		}
	}
}

// answer answers what release finds.
func (f *following) answer(session proto.SessionID, q *flow.FIFO[forwarded]) {
	b := f.ApplyPool.Get()
	if f.release(session, q, b); len(b.Items) == 0 {
		f.ApplyPool.Put(b)
		return
	}
	f.h.applier.Put(b)
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
	for f.answered.Len() > 0 && f.answered.Front().after <= f.h.reach.delivered {
		s := f.answered.Front().session
		f.answered.Pop()
		q := f.pending[s]
		if q == nil || q.Len() == 0 || q.Front().item.Op != proto.OpSync {
			f.Log.Error("cannot match the answer to a sync: its session waits for something else",
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
		f.Large.Release(len(w.body.Data) + proto.RequestHeaderSize)
		f.h.pending.Drop(w.body)
	}
	q.Pop()
}

// end implements role.
func (f *following) end() {
	for _, id := range inOrder(f.pending, cmp.Compare) {
		if _, waits := f.h.keeping.of(id); !waits {
			f.lose(id)
		}
	}
	for _, id := range inOrder(f.renewed, cmp.Compare) {
		f.renewed[id].Client.Unanswered()
	}
	for ; f.back.Len() > 0; f.back.Pop() {
		if r := f.back.Front(); !r.settled() {
			r.Client.Unanswered()
		}
	}
	f.h.silence.followingEnds(f)
	f.Tracker.Follow()
}

// inOrder returns the keys of a map in an order that does not depend on the run, for what others can see: the same
// input makes the same output.
func inOrder[K comparable, V any](m map[K]V, order func(a, b K) int) []K {
	if len(m) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(m), order)
}
