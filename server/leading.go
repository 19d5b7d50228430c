package server

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// leading is the role of a leader: it turns the requests of its own clients and those that learners forward into txns.
// Owned by the node goroutine.
//
// Invariants: entries are in the order of their zxids, so committed txns meet them at the front. Nothing overtakes a sync
// that must not: what a session sends behind its sync waits for the answer; and of a learner in Java everything that it sends
// behind a sync, because it takes the commits of its requests, and SYNC, for those of the oldest that it has forwarded, whatever
// their sessions. A Warren learner looks for the oldest of the session, but its syncs, too, are answered in their order, because
// the answers have no name on the wire.
type leading struct {
	m        *member
	preparer *datatree.Preparer
	next     proto.Zxid // of the next txn
	entries  fifo[entry]
	txns     []zab.Txn // prepared and not proposed
	chunk    []byte    // where payloads are written; what was written is never changed
	req      datatree.Request
	refused  bool       // the core takes no more proposals in this role: what it has not taken ends with it
	refuses  bool       // clients' writes, because there is no room for them: see room.go
	reconfig proto.Zxid // the last reconfiguration that was prepared
	acks     ackTime

	unasked []unasked                    // syncs that the core does not know yet
	token   uint64                       // of the last sync
	syncs   map[uint64]holder            // that were asked for, by token
	held    map[holder]*fifo[write]      // the sync that is waited for, and what came behind it
	order   map[zab.LinkID]*fifo[holder] // whose sync of a Warren learner is to be asked for next
}

// holder is who waits for a sync: a session, or a whole learner in Java.
type holder struct {
	session proto.SessionID
	link    zab.LinkID
}

// unasked is a sync that waits until all before it is proposed.
type unasked struct {
	link  zab.LinkID
	token uint64
}

// entry is a txn of this leader that is not committed, or an answer that has its place between txns.
type entry struct {
	zxid    proto.Zxid // of the txn, or of the one before
	txn     bool
	item    item
	create2 []int32
}

// write is a request on its way to the Preparer, of a client of this server (link 0) or of a learner.
type write struct {
	link    zab.LinkID
	conn    *conn
	local   *session // of a client of this server, and of the session clock
	session proto.SessionID
	xid     int32
	op      proto.OpCode
	body    []byte
	ids     []datatree.Identity
	at      int64  // when it was received, ns on the server's clock
	token   uint64 // of a sync that was asked for
	moved   bool   // the learner knows that the session is elsewhere
}

// Bounds of what a leader has in flight. The core's own are above them.
const (
	inFlightMax  = 40_000
	payloadChunk = 256 << 10
	proposeMax   = 1024
)

func newLeading(m *member) *leading {
	l := &leading{m: m, syncs: map[uint64]holder{}, held: map[holder]*fifo[write]{},
		order: map[zab.LinkID]*fifo[holder]{}, next: m.core.NextZxid()}
	s := m.srv
	l.acks.every = uint32(min(max(s.cfg.Quorum.AckLoggingFrequency, 1), math.MaxInt32))
	s.store.mu.RLock()
	cfg := s.prepareConfig()
	cfg.Reconfigure = l.reconfigure
	l.preparer = datatree.NewPreparer(s.store.state, cfg)
	s.tracker.lead(s.store.state, s.clock.now())
	s.store.mu.RUnlock()
	return l
}

// request implements role.
func (l *leading) request(b *batch, r *request) bool {
	if l.refused || l.entries.len() >= inFlightMax {
		return false
	}
	if endsLocally(r) {
		l.m.release(r)
		l.between(localEnd(r, b.received))
		return true
	}
	w := write{conn: r.conn, local: r.session, xid: r.xid, op: r.op, body: r.body.of(b.buf), ids: r.ids, at: b.received}
	if r.session != nil {
		w.session = r.session.id
	}
	l.take(&w)
	l.m.release(r)
	return true
}

// packet implements role.
func (l *leading) packet(link *peers.Link, p *peers.Packet) {
	switch p.Type {
	case proto.PacketRequest:
		w := write{link: link.ID, at: l.m.srv.clock.now(), moved: p.Zxid == peers.MovedZxid}
		if err := decodeForwarded(p, &w); err != nil {
			l.m.srv.log.Warn("closing link", zap.Int64("server", int64(link.Peer)), zap.Error(err))
			l.m.peers.Close(link.ID)
			return
		}
		l.take(&w)
	case proto.PacketPing:
		l.m.srv.tracker.touched(p.Data, l.m.srv.clock.now())
		l.m.core.Unfit(link.Peer, saysNoRoom(p.Data))
	case proto.PacketRevalidate:
		if !l.m.srv.mayAnswer() {
			return // nor may the learner: its client tries another
		}
		l.m.srv.metrics.quorum.revalidations.Inc()
		r := proto.NewReader(p.Data)
		id, timeoutMs := proto.SessionID(r.Int64()), r.Int32()
		valid := l.m.srv.tracker.revalidate(id, timeoutMs, link.ID, l.m.srv.clock.now())
		proposed := p.Zxid // Java wants its own back
		if l.m.warren[link.ID] {
			proposed = l.next - 1
		}
		data := proto.AppendBool(proto.AppendInt64(nil, int64(id)), valid)
		link.SendPacket(&peers.Packet{Type: proto.PacketRevalidate, Zxid: proposed, Data: data})
		l.m.touch(link)
	}
}

// resume implements role: the session may go on here at once, if it exists.
func (l *leading) resume(r *resumption) {
	s, old := l.m.srv.tracker.resume(r.id, r.timeoutMs, r.conn)
	r.conn.resumed(s, old, r.timeoutMs)
}

// take prepares one request, or lets it wait behind a sync.
func (l *leading) take(w *write) {
	who := holder{session: w.session}
	if w.link != 0 && !l.m.warren[w.link] {
		who = holder{link: w.link}
	}
	q := l.held[who]
	if q == nil && w.op != proto.OpSync {
		l.prepare(w)
		return
	}
	if q == nil {
		q = &fifo[write]{}
		l.held[who] = q
	}
	kept := *w
	kept.body = append([]byte(nil), w.body...)
	q.push(kept)
	switch {
	case w.op != proto.OpSync:
	case w.link == 0 || who.link != 0:
		l.ask(who)
	default:
		o := l.order[w.link]
		if o == nil {
			o = &fifo[holder]{}
			l.order[w.link] = o
		}
		o.push(who)
		l.askNext(w.link)
	}
}

// askNext asks the core for the syncs of a Warren learner that are next in their order.
func (l *leading) askNext(link zab.LinkID) {
	for o := l.order[link]; o != nil && o.len() > 0 && l.ask(*o.front()); {
		o.pop()
	}
}

// ask asks the core for the syncs that somebody waits for first. It reports false if there is none that was not asked for.
// Source: quorum-protocol 8.3.
func (l *leading) ask(who holder) (asked bool) {
	q := l.held[who]
	for i := 0; q != nil && i < q.len() && q.at(i).op == proto.OpSync; i++ {
		if w := q.at(i); w.token == 0 {
			l.flush() // what came before is proposed before
			l.token++
			w.token = l.token
			l.syncs[l.token] = who
			l.unasked = append(l.unasked, unasked{w.link, l.token})
			asked = true
		}
		if who.link == 0 {
			break // those behind it may be of other learners, whose order is another
		}
	}
	l.askCore()
	return asked
}

// askCore asks the core for the syncs that it does not know, unless what came before them is not proposed: if it never will be, the
// syncs must not be answered either.
func (l *leading) askCore() {
	if len(l.unasked) == 0 || len(l.txns) > 0 || l.refused {
		return
	}
	for _, u := range l.unasked {
		if _, ok := l.syncs[u.token]; ok && l.m.core.Sync(u.link, u.token) != nil {
			l.refused = true // the role ends, and with it all that is not answered
		}
	}
	l.unasked = l.unasked[:0]
	l.m.again = true
}

// synced implements role.
func (l *leading) synced(tokens []uint64) {
	for _, token := range tokens {
		if who, ok := l.syncs[token]; ok {
			l.m.answer(itemOf(l.held[who].front()))
			l.answeredSync(token)
		}
	}
}

// answeredSync takes up what waited behind a sync.
func (l *leading) answeredSync(token uint64) {
	who, ok := l.syncs[token]
	if !ok {
		return
	}
	delete(l.syncs, token)
	l.held[who].pop()
	l.advance(who)
}

// advance prepares what was held back, up to the next sync.
func (l *leading) advance(who holder) {
	q := l.held[who]
	for q.len() > 0 && q.front().op != proto.OpSync {
		w := *q.front()
		q.pop()
		l.prepare(&w)
	}
	l.m.again = true
	switch {
	case q.len() == 0:
		delete(l.held, who)
	case q.front().link == 0 || who.link != 0:
		l.ask(who)
	default:
		l.askNext(q.front().link)
	}
}

// gone forgets the syncs of a learner that is gone, and takes up what waited behind them.
func (l *leading) gone(link zab.LinkID) {
	delete(l.order, link)
	for who, q := range l.held {
		var rest fifo[write]
		for ; q.len() > 0; q.pop() {
			if w := q.front(); w.link != link || who.link == 0 && w.op != proto.OpSync {
				rest.push(*w)
			} else if w.token != 0 {
				delete(l.syncs, w.token)
			}
		}
		*q = rest
		if q.len() == 0 || q.front().token == 0 {
			l.advance(who)
		}
	}
}

// prepare turns a request into a txn, or into an answer that has its place between txns.
func (l *leading) prepare(w *write) {
	s := l.m.srv
	it := itemOf(w)
	code := proto.OK
	switch {
	case w.local != nil && w.conn == nil && !s.tracker.knows(w.local):
		return // of an earlier leadership, in which the session seemed to have expired
	case w.local != nil && w.local.closing.Load() && !(w.op == proto.OpCloseSession && w.conn == nil):
		it.drop = true
		l.between(it)
		return
	case w.op == proto.OpCreateSession || w.op == proto.OpCloseSession || w.session == 0:
	case l.refuses || s.guard.full():
		code = proto.ErrNotReadOnly
		s.metrics.refusedDiskFull.Inc()
	case w.conn != nil && s.waitedTooLong(w.op, w.at):
		code = proto.ErrThrottledOp
		s.metrics.throttledOps.Inc()
	case w.moved:
		code = proto.ErrSessionMoved
	default:
		code = s.tracker.check(w.session, w.link, s.cfg.LocalSessionsEnabled, w.at)
	}
	if code != proto.OK && w.link == 0 {
		it.err = code
		l.between(it)
		return
	}
	if code == proto.OK && mustUpgrade(w.local, w.op, w.body) && s.cfg.LocalSessionsUpgradingEnabled {
		l.upgrade(w)
	}
	if w.op == proto.OpCreateSession && w.link != 0 {
		l.trackForwarded(w)
	}
	l.propose(w, it, code)
}

// upgrade makes a local session of a client of this server global, ahead of the request that needs it.
func (l *leading) upgrade(w *write) {
	timeout := proto.AppendInt32(nil, w.local.timeoutMs.Load())
	l.propose(&write{session: w.session, op: proto.OpCreateSession, body: timeout}, item{op: proto.OpCreateSession}, proto.OK)
	l.m.srv.tracker.makeGlobal(w.session)
}

// trackForwarded begins to track a session that a learner creates.
func (l *leading) trackForwarded(w *write) {
	r := proto.NewReader(w.body)
	if timeoutMs := r.Int32(); r.Err() == nil {
		l.m.srv.tracker.track(w.session, timeoutMs, w.link, l.m.srv.clock.now())
	}
}

// propose prepares the txn. Every forwarded request becomes one, if only an error. Source: quorum-protocol 8.2.
func (l *leading) propose(w *write, it item, code proto.ErrCode) {
	s := l.m.srv
	if cap(l.chunk)-len(l.chunk) < len(w.body)+1024 {
		l.chunk = make([]byte, 0, max(payloadChunk, 2*len(w.body)))
	}
	start := len(l.chunk)
	now := s.clock.wallMs()
	ok := false
	if code == proto.OK {
		l.req = datatree.Request{Session: w.session, Cxid: w.xid, Op: w.op, Body: w.body, Identities: w.ids,
			LocalSession: s.cfg.LocalSessionsEnabled && w.session != 0 && s.tracker.isLocal(w.session)}
		long := len(w.body) >= smallWrite && w.op != proto.OpMulti // which rests
		if long {
			s.store.long.Lock()
		}
		s.store.mu.RLock()
		l.chunk, code, ok = l.preparer.Prepare(l.chunk, &l.req, l.next, now)
		s.store.mu.RUnlock()
		if long {
			s.store.long.Unlock()
		}
	}
	if !ok {
		if w.link == 0 {
			it.err = code
			l.between(it)
			return
		}
		header := proto.TxnHeader{ClientID: w.session, Cxid: w.xid, Zxid: l.next, Time: now, Type: w.op}
		l.chunk = datatree.AppendErrorTxn(l.chunk, header, code)
	}
	payload := l.chunk[start:len(l.chunk):len(l.chunk)]
	e := entry{zxid: l.next, txn: true, item: it}
	if create2 := l.preparer.Create2(); ok && len(create2) > 0 && w.conn != nil {
		e.create2 = append([]int32(nil), create2...)
	}
	if ok && code == proto.OK && w.op == proto.OpReconfig {
		l.reconfig = l.next
	}
	l.entries.push(e)
	l.txns = append(l.txns, zab.Txn{Zxid: l.next, Payload: payload})
	l.next++
	if w.op == proto.OpCloseSession {
		s.tracker.closing(w.session)
	}
}

// between puts an answer behind everything that was prepared so far.
func (l *leading) between(it item) {
	if l.entries.len() == 0 {
		l.m.answer(it)
		return
	}
	l.entries.push(entry{zxid: l.next - 1, item: it})
}

// calm implements role.
func (l *leading) calm() bool { return l.entries.len() <= calmMax && len(l.held) == 0 }

// flush implements role.
func (l *leading) flush() {
	for len(l.txns) > 0 && !l.refused {
		txns := l.portion()
		err := l.m.core.Propose(txns...)
		if errors.Is(err, zab.ErrBusy) {
			return // what is in flight makes turns, and each of them tries again
		}
		l.m.again = true
		if err != nil {
			// The leadership is handed over, or its epoch is exhausted; what was not taken is lost with the role, and its
			// clients learn that the connection is.
			if !errors.Is(err, zab.ErrNotLeading) {
				l.m.srv.log.Warn("no more proposals in this epoch", zap.Error(err))
				l.m.core.HandOver(false)
			}
			l.refused = true
			return
		}
		l.proposed(txns)
		l.txns = slices.Delete(l.txns, 0, len(txns))
	}
	l.askCore()
}

// proposed counts.
func (l *leading) proposed(txns []zab.Txn) {
	var sizes sizeRange
	for i := range txns {
		sizes.add(int64(len(txns[i].Payload)))
	}
	l.m.srv.metrics.quorum.proposalSize.merge(sizes)
	l.m.srv.metrics.quorum.proposals.Add(int64(len(txns)))
	l.acks.proposed(txns)
}

// acknowledged measures a learner that has acknowledged all up to z, or, if it is in Java, z.
func (l *leading) acknowledged(id proto.ServerID, z proto.Zxid) {
	if ms, ok := l.acks.acknowledged(id, z, l.m.srv.clock.wallMs()); ok {
		l.m.srv.metrics.quorum.ackLatency.of(strconv.FormatInt(int64(id), 10)).observe(ms)
	}
}

// deliver implements role.
func (l *leading) deliver(txns []zab.Txn, out func(zab.Txn, item, []int32)) {
	q := l.m.srv.metrics.quorum
	q.commits.Add(int64(len(txns)))
	q.quorumAck.observe(max(l.m.srv.clock.wallMs()-txnTime(txns[len(txns)-1].Payload), 0))
	for _, t := range txns {
		l.answered(t.Zxid-1, out)
		if l.entries.len() > 0 && l.entries.front().zxid == t.Zxid && l.entries.front().txn {
			e := l.entries.front()
			out(t, e.item, e.create2)
			l.entries.pop()
		} else {
			out(t, remoteItem(t.Payload), nil) // of the history, or the core's own
		}
		l.answered(t.Zxid, out)
	}
}

// answered gives out the answers that have their place up to z.
func (l *leading) answered(z proto.Zxid, out func(zab.Txn, item, []int32)) {
	for l.entries.len() > 0 && l.entries.front().zxid <= z && !l.entries.front().txn {
		out(zab.Txn{}, l.entries.front().item, nil)
		l.entries.pop()
	}
}

// end implements role.
func (l *leading) end() {
	var items []item
	lost := func(it item) {
		if it.conn != nil {
			it.drop = true
			items = append(items, it)
		}
	}
	for ; l.entries.len() > 0; l.entries.pop() {
		lost(l.entries.front().item)
	}
	for _, q := range l.held {
		for ; q.len() > 0; q.pop() {
			lost(itemOf(q.front()))
		}
	}
	if len(items) > 0 {
		l.m.answer(items...)
	}
	l.m.srv.tracker.follow()
}

// itemOf is whom to answer for a request.
func itemOf(w *write) item {
	it := item{session: w.local, received: w.at, xid: w.xid, op: w.op}
	if w.link == 0 {
		it.conn = w.conn
	}
	return it
}
