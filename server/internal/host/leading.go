package host

import (
	"errors"
	"math"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/syncs"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// leading is the role of a leader. It turns requests into txns: those of its own clients and those that learners
// forward. Owned by the host goroutine.
//
// Invariant: entries are in the order of their zxids, so a committed txn belongs to the front entry.
type leading struct {
	*env.Env
	h          *Host
	preparer   *prepare.Preparer
	next       proto.Zxid // of the next txn
	entries    flow.FIFO[entry]
	moves      flow.FIFO[move] // clients that have come back, until they may go on
	last, done proto.Zxid      // of the last txn that was prepared, and of the last one that was delivered
	txns       []zab.Txn       // prepared and not yet proposed
	payloads   payloads
	req        prepare.Request
	locked     bool // the read lock of the state is held
	// wallMs is the wall clock when the read lock was taken: the time of all txns that are prepared under it. taken is
	// the same moment on the server's clock, 0 if it is not measured.
	wallMs, taken int64
	// refused is set when the core takes no more proposals in this role. Txns that the core has not taken are lost
	// with the role.
	refused  bool
	refuses  bool       // clients' writes are refused, because disks have no room
	reconfig proto.Zxid // the last reconfiguration that was prepared
	handing  *handing   // a handover that has begun; nil if there is none
	acks     ackTime
	lost     map[zab.LinkID]lostLink // those that sessions have had, and OwnerUnknown

	syncs *syncs.Queue[write] // syncs that are not answered, and the requests behind them
}

// lostLink is a link to a learner that is gone, and that sessions belong to.
type lostLink struct {
	since int64 // ns on the server's clock
	peer  proto.ServerID
}

// entry is a txn of this leader that is not committed, or an answer that has its place between txns.
type entry struct {
	zxid    proto.Zxid // of the txn, or of the one before the answer
	txn     bool
	item    flow.Item
	create2 []int32
}

// Bounds of what a leader has in flight. The bounds of the core are above them.
const (
	inFlightMax = 40_000
	proposeMax  = 1024
)

func newLeading(h *Host) *leading {
	l := &leading{Env: h.Env, h: h, next: h.core.NextZxid()}
	l.syncs = syncs.New(l.needs())
	l.payloads.reuse = h.peers == nil
	h.policy.Begin()
	l.acks.every = uint32(min(max(h.Config.Quorum.AckLoggingFrequency, 1), math.MaxInt32))
	h.Store.Mu.RLock()
	l.last = h.Store.State.LastZxid()
	l.done = l.last
	cfg := prepareConfig(h.Env)
	if h.peers != nil {
		cfg.Reconfigure = l.reconfigure
	}
	l.preparer = prepare.New(h.Store.State, cfg)
	now := h.Clock.Now()
	h.Tracker.Lead(h.Store.State.EachSession, now)
	h.Store.Mu.RUnlock()
	h.silence.inherit(h.Tracker, h.epoch, now)
	l.lost = map[zab.LinkID]lostLink{sessions.OwnerUnknown: {now, -1}}
	return l
}

// needs is what the queue of syncs needs.
func (l *leading) needs() syncs.Needs[write] {
	return syncs.Needs[write]{
		Propose: l.flush,
		MayAsk:  func() bool { return len(l.txns) == 0 && !l.refused },
		Ask: func(link zab.LinkID, token uint64) {
			if l.h.core.Sync(link, token) != nil {
				l.refused = true // the role ends, and what is not answered is dropped with it
			}
			l.h.again = true
		},
		Prepare: func(w write) {
			l.prepare(&w)
			l.h.again = true
		},
	}
}

// request implements role.
func (l *leading) request(b *flow.Batch, r *flow.Request) bool {
	if l.refused || l.entries.Len() >= inFlightMax || l.handing != nil && r.Client != nil {
		return false
	}
	l.lockState() // the wait for this lock counts as time that the request has waited
	w := write{client: r.Client, local: r.Session, xid: r.Xid, op: r.Op, body: r.Body.Of(b.Buf), ids: r.IDs,
		at: b.Received, taken: l.taken}
	if r.Session != nil {
		w.session = r.Session.ID
	}
	l.take(&w)
	l.h.release(r)
	return true
}

// Packet implements role.
func (l *leading) Packet(link *link, p *peers.Packet) {
	switch p.Type {
	case proto.PacketRequest:
		w := write{link: link.ID, java: !link.warren, at: l.Clock.Now(), moved: p.Zxid == peers.MovedZxid,
			global: p.Zxid == peers.GlobalZxid}
		if err := decodeForwarded(p, &w, l.Config.SASL.AnyUser); err != nil {
			l.Log.Warn("closing the link to a learner: its request is malformed",
				zap.Int64("server", int64(link.Peer)), zap.Error(err))
			l.h.peers.Close(link.ID)
			return
		}
		l.take(&w)
	case proto.PacketPing:
		l.Tracker.Touched(p.Data, l.Clock.Now())
		l.h.member.Unfit(link.Peer, saysNoRoom(p.Data))
		link.priority, link.idle = saysPriority(p.Data), saysIdle(p.Data)
	case proto.PacketRevalidate:
		if !l.MayAnswer() || l.handing != nil {
			return // the learner may not answer either: its client tries another server
		}
		l.Metrics.Quorum.Revalidations.Inc()
		r := proto.NewReader(p.Data)
		id, timeoutMs := proto.SessionID(r.Int64()), r.Int32()
		if link.warren && l.Tracker.Ends(id) {
			return // its end may come to nothing; a learner in Java is answered as by a leader in Java
		}
		from, note, valid := l.Tracker.Revalidate(id, timeoutMs, link.ID, l.Clock.Now())
		to := move{id: id, timeoutMs: timeoutMs, link: link, asked: p.Zxid}
		if !valid {
			l.revalidated(&to, false)
			return
		}
		l.outdate(id)
		l.moved(id, from, link.ID)
		l.move(to, note)
	case peers.PacketReclaim:
		l.reclaimed(link, p)
	case peers.PacketSilent:
		for id, heard := range sessions.EachSilent(p.Data, l.Clock.Now()) {
			l.Tracker.Released(id, link.ID, heard)
		}
	case peers.PacketHold:
		if l.handing != nil {
			delete(l.handing.waits, link.ID)
		}
	}
}

// take prepares one request, or lets it wait behind a sync.
func (l *leading) take(w *write) {
	key := syncs.Key{Session: w.session}
	if w.java {
		key = syncs.Key{Link: w.link}
	}
	if w.op == proto.OpSync {
		w.code, w.drop = l.verdict(w)
	}
	if !w.syncs() && !l.syncs.Holds(key) {
		l.prepare(w)
		return
	}
	held := *w
	held.body = append([]byte(nil), w.body...)
	l.syncs.Push(key, w.link, w.syncs(), held)
}

// synced implements role.
func (l *leading) synced(tokens []uint64) {
	for _, token := range tokens {
		if w := l.syncs.Sync(token); w != nil {
			l.h.answer(itemOf(w))
			l.answeredSync(token)
		}
	}
}

// answeredSync continues with the requests that waited behind a sync.
func (l *leading) answeredSync(token uint64) {
	if l.syncs.Answered(token) {
		l.h.again = true
	}
}

// gone forgets a learner after its link has closed. gone is nil if nothing has come on the link.
func (l *leading) gone(id zab.LinkID, gone *link) {
	if l.handing != nil {
		delete(l.handing.waits, id)
	}
	l.syncs.Gone(id)
	if gone.learner() {
		l.lost[id] = lostLink{l.Clock.Now(), gone.Peer}
	}
}

// prepare turns a request into a txn, or into an answer that has its place between txns.
func (l *leading) prepare(w *write) {
	h := l.h
	if w.op == proto.OpCloseSession && w.local != nil && w.local.IsLocal() {
		l.between(itemOf(w)) // no txn, but its place behind the requests of the session that wait behind a sync
		return
	}
	if w.local != nil && w.client == nil && !h.Tracker.Knows(w.local) {
		return // of an earlier leadership, in which the session seemed to have expired
	}
	code, drop := w.code, w.drop
	if w.op != proto.OpSync {
		code, drop = l.verdict(w)
	}
	if drop {
		it := itemOf(w)
		it.Drop = true
		l.between(it)
		return
	}
	if code == proto.OK {
		code = l.checkSession(w)
	}
	if code != proto.OK && w.link == 0 {
		l.refuse(w, code)
		return
	}
	if code == proto.OK && mustUpgrade(w.local, w.op, w.body) && h.Config.LocalSessionsUpgradingEnabled {
		l.upgrade(w)
	}
	if w.op == proto.OpCreateSession && w.link != 0 {
		l.trackForwarded(w)
	}
	l.propose(w, code)
}

// propose prepares the txn. Every forwarded request becomes a txn, if only an error txn. Source: quorum-protocol
// 8.2.
func (l *leading) propose(w *write, code proto.ErrCode) {
	h := l.h
	room := len(w.body) + 1024
	if len(w.body) > payloadChunk/2 {
		room = 2 * len(w.body)
	}
	l.payloads.reserve(room, l.next-1, proto.Zxid(h.Finished.Load()))
	chunk := l.payloads.chunk
	start := len(chunk)
	l.lockState()
	w.taken = l.taken
	now := l.wallMs
	ok := false
	if code == proto.OK {
		req := &l.req
		req.Session, req.Cxid, req.Op, req.Body, req.Identities = w.session, w.xid, w.op, w.body, w.ids
		req.LocalSession = h.Config.LocalSessionsEnabled && w.session != 0 && h.Tracker.IsLocal(w.session)
		if l.takesLong(w) {
			l.unlockState()
			h.Store.Long.Lock()
			l.lockState()
			chunk, code, ok = l.preparer.Prepare(chunk, &l.req, l.next, now)
			l.unlockState()
			h.Store.Long.Unlock()
		} else {
			chunk, code, ok = l.preparer.Prepare(chunk, &l.req, l.next, now)
		}
	}
	if !ok {
		if w.link == 0 {
			l.refuse(w, code)
			return
		}
		header := proto.TxnHeader{ClientID: w.session, Cxid: w.xid, Zxid: l.next, Time: now, Type: w.op}
		chunk = prepare.AppendErrorTxn(chunk, header, code)
	}
	l.payloads.chunk = chunk
	payload := chunk[start:len(chunk):len(chunk)]
	e := l.entries.Next() // built in place: an entry is copied once, into the batch for the applier
	e.zxid, e.txn = l.next, true
	w.fill(&e.item)
	if create2 := l.preparer.Create2(); ok && len(create2) > 0 && w.client != nil {
		e.create2 = append([]int32(nil), create2...)
	}
	if ok && code == proto.OK && w.op == proto.OpReconfig {
		l.reconfig = l.next
	}
	l.txns = append(l.txns, zab.Txn{Zxid: l.next, Payload: payload})
	l.last = l.next
	l.next++
	if w.op == proto.OpCloseSession {
		h.Tracker.SetClosing(w.session)
	}
}

// refuse answers a request that becomes no txn.
func (l *leading) refuse(w *write, code proto.ErrCode) {
	it := itemOf(w)
	it.Err = code
	l.between(it)
}

// between puts an answer behind everything that was prepared so far.
func (l *leading) between(it flow.Item) {
	if l.entries.Len() == 0 {
		l.h.answer(it)
		return
	}
	l.entries.Push(entry{zxid: l.last, item: it})
}

// refusesWrites implements role.
func (l *leading) refusesWrites() bool { return l.refuses }

// calm implements role.
func (l *leading) calm() bool { return l.entries.Len() <= calmMax && l.syncs.Empty() }

// flush implements role.
func (l *leading) flush() {
	l.unlockState()
	for len(l.txns) > 0 && !l.refused {
		txns := l.portion()
		err := l.h.core.Propose(txns...)
		if errors.Is(err, zab.ErrBusy) {
			return // txns in flight cause further turns, and each turn tries again
		}
		l.h.again = true
		if err != nil {
			// The leadership is handed over, or its epoch is exhausted. Txns that were not taken are lost with the
			// role. Their clients see that the connection is lost.
			if !errors.Is(err, zab.ErrNotLeading) {
				l.Log.Warn("giving up the leadership: this epoch accepts no more proposals", zap.Error(err))
				l.h.core.HandOver(false)
			}
			l.refused = true
			return
		}
		l.proposed(txns)
		l.txns = slices.Delete(l.txns, 0, len(txns))
	}
	l.syncs.Ask()
	l.maybeHand()
}

// renew lets the core begin the next epoch, unless txns are prepared and not proposed. In that case the core asks
// again.
func (l *leading) renew() {
	if l.flush(); len(l.txns) == 0 && !l.refused {
		l.h.member.Renew()
		l.next = l.h.core.NextZxid()
		l.h.again = true
	}
}

// deliver implements role.
func (l *leading) deliver(txns []zab.Txn, b *flow.ApplyBatch) {
	if q := l.Metrics.Quorum; l.h.peers != nil {
		q.Commits.Add(int64(len(txns)))
		q.QuorumAck.Observe(max(l.Clock.WallMs()-flow.TxnTime(txns[len(txns)-1].Payload), 0))
	}
	if l.entries.Len() > 0 && l.entries.Front().item.Client != nil {
		h := l.h
		h.Stats.DurableTime.Observe(figures.Ms(h.Clock.Now() - l.entries.Front().item.Received))
	}
	for _, t := range txns {
		l.answered(t.Zxid-1, b)
		if l.entries.Len() > 0 && l.entries.Front().zxid == t.Zxid && l.entries.Front().txn {
			e := l.entries.Front()
			b.Add(&e.item, t.Payload, e.create2)
			l.entries.Pop()
		} else {
			addRemote(b, t.Payload) // of the history, or the core's own
		}
		l.answered(t.Zxid, b)
	}
}

// answered adds the answers that have their place up to z.
func (l *leading) answered(z proto.Zxid, b *flow.ApplyBatch) {
	for l.entries.Len() > 0 && l.entries.Front().zxid <= z && !l.entries.Front().txn {
		b.Add(&l.entries.Front().item, nil, nil)
		l.entries.Pop()
	}
}

// end implements role.
func (l *leading) end() {
	l.unlockState()
	var items []flow.Item
	lost := func(it flow.Item) {
		if it.Client != nil {
			it.Drop = true
			items = append(items, it)
		}
	}
	for ; l.entries.Len() > 0; l.entries.Pop() {
		lost(l.entries.Front().item)
	}
	l.syncs.Drain(func(w *write) { lost(itemOf(w)) })
	if len(items) > 0 {
		l.h.answer(items...)
	}
	l.movesEnd()
	if l.h.peers != nil {
		l.h.silence.leadingEnds(l.Clock.Now())
		l.Tracker.Follow() // the next leader decides about the sessions
	}
}
