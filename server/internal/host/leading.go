package host

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
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
	m        *Host
	preparer *prepare.Preparer
	next     proto.Zxid // of the next txn
	entries  flow.FIFO[entry]
	txns     []zab.Txn // prepared and not proposed
	payloads payloads
	req      prepare.Request
	locked   bool       // the read lock of the state is held
	wallMs   int64      // wall clock when it was taken: the time of all txns that are prepared under it
	refused  bool       // the core takes no more proposals in this role: what it has not taken ends with it
	refuses  bool       // clients' writes, because there is no room for them: see room.go
	reconfig proto.Zxid // the last reconfiguration that was prepared
	acks     ackTime

	unasked []unasked                         // syncs that the core does not know yet
	token   uint64                            // of the last sync
	syncs   map[uint64]holder                 // that were asked for, by token
	held    map[holder]*flow.FIFO[write]      // the sync that is waited for, and what came behind it
	order   map[zab.LinkID]*flow.FIFO[holder] // whose sync of a Warren learner is to be asked for next
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
	item    flow.Item
	create2 []int32
}

// write is a request on its way to the Preparer, of a client of this server (link 0) or of a learner.
type write struct {
	link    zab.LinkID
	client  flow.Client
	local   *sessions.Session // of a client of this server, and of the session clock
	session proto.SessionID
	xid     int32
	op      proto.OpCode
	body    []byte
	ids     []auth.Identity
	at      int64         // when it was received, ns on the server's clock
	token   uint64        // of a sync that was asked for
	code    proto.ErrCode // of a sync: the verdict when it came
	drop    bool          // the same
	moved   bool          // the learner knows that the session is elsewhere
}

// syncs reports whether it is a sync that the agreement is to answer.
func (w *write) syncs() bool { return w.op == proto.OpSync && w.code == proto.OK && !w.drop }

// Bounds of what a leader has in flight. The core's own are above them.
const (
	inFlightMax = 40_000
	proposeMax  = 1024
)

func newLeading(m *Host) *leading {
	l := &leading{m: m, syncs: map[uint64]holder{}, held: map[holder]*flow.FIFO[write]{},
		order: map[zab.LinkID]*flow.FIFO[holder]{}, next: m.core.NextZxid()}
	s := m
	l.payloads.reuse = m.peers == nil
	l.acks.every = uint32(min(max(s.Config.Quorum.AckLoggingFrequency, 1), math.MaxInt32))
	s.Store.Mu.RLock()
	cfg := s.prepareConfig()
	if m.peers != nil {
		cfg.Reconfigure = l.reconfigure
	}
	l.preparer = prepare.New(s.Store.State, cfg)
	s.Tracker.Lead(s.Store.State.EachSession, s.Clock.Now())
	s.Store.Mu.RUnlock()
	return l
}

// hold takes the read lock of the state until letGo: all requests of a turn are prepared under one hold. REQUIRES: the goroutine takes that
// lock nowhere else until then.
func (l *leading) hold() {
	if !l.locked {
		l.m.Store.Mu.RLock()
		l.locked, l.wallMs = true, l.m.Clock.WallMs()
	}
}

// letGo ends hold. It is called before anything but requests is looked at.
func (l *leading) letGo() {
	if l.locked {
		l.m.Store.Mu.RUnlock()
		l.locked = false
	}
}

// request implements role.
func (l *leading) request(b *flow.Batch, r *flow.Request) bool {
	if l.refused || l.entries.Len() >= inFlightMax {
		return false
	}
	l.hold() // how long a request has waited counts when its turn has come
	if endsLocally(r) {
		l.m.release(r)
		l.between(localEnd(r, b.Received))
		return true
	}
	w := write{client: r.Client, local: r.Session, xid: r.Xid, op: r.Op, body: r.Body.Of(b.Buf), ids: r.IDs,
		at: b.Received}
	if r.Session != nil {
		w.session = r.Session.ID
	}
	l.take(&w)
	l.m.release(r)
	return true
}

// Packet implements role.
func (l *leading) Packet(link *peers.Link, p *peers.Packet) {
	switch p.Type {
	case proto.PacketRequest:
		w := write{link: link.ID, at: l.m.Clock.Now(), moved: p.Zxid == peers.MovedZxid}
		if err := decodeForwarded(p, &w); err != nil {
			l.m.Log.Warn("closing link", zap.Int64("server", int64(link.Peer)), zap.Error(err))
			l.m.peers.Close(link.ID)
			return
		}
		l.take(&w)
	case proto.PacketPing:
		l.m.Tracker.Touched(p.Data, l.m.Clock.Now())
		l.m.core.Unfit(link.Peer, saysNoRoom(p.Data))
	case proto.PacketRevalidate:
		if !l.m.MayAnswer() {
			return // nor may the learner: its client tries another
		}
		l.m.Metrics.Quorum.Revalidations.Inc()
		r := proto.NewReader(p.Data)
		id, timeoutMs := proto.SessionID(r.Int64()), r.Int32()
		valid := l.m.Tracker.Revalidate(id, timeoutMs, link.ID, l.m.Clock.Now())
		if valid && l.m.Weak(weakness.EphemeralsLostOnMove) {
			l.loseEphemeral(id)
		}
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
func (l *leading) resume(r *flow.Resumption) {
	s, old := l.m.Tracker.Resume(r.ID, r.TimeoutMs, r.Client, r.Received)
	r.Client.Resumed(s, old, r.TimeoutMs)
}

// take prepares one request, or lets it wait behind a sync.
func (l *leading) take(w *write) {
	who := holder{session: w.session}
	if w.link != 0 && !l.m.warren[w.link] {
		who = holder{link: w.link}
	}
	q := l.held[who]
	if w.op == proto.OpSync {
		w.code, w.drop = l.verdict(w)
	}
	if q == nil && !w.syncs() {
		l.prepare(w)
		return
	}
	if q == nil {
		q = &flow.FIFO[write]{}
		l.held[who] = q
	}
	kept := *w
	kept.body = append([]byte(nil), w.body...)
	q.Push(kept)
	switch {
	case !w.syncs():
	case w.link == 0 || who.link != 0:
		l.ask(who)
	default:
		o := l.order[w.link]
		if o == nil {
			o = &flow.FIFO[holder]{}
			l.order[w.link] = o
		}
		o.Push(who)
		l.askNext(w.link)
	}
}

// askNext asks the core for the syncs of a Warren learner that are next in their order.
func (l *leading) askNext(link zab.LinkID) {
	for o := l.order[link]; o != nil && o.Len() > 0 && l.ask(*o.Front()); {
		o.Pop()
	}
}

// ask asks the core for the syncs that somebody waits for first. It reports false if there is none that was not asked for.
// Source: quorum-protocol 8.3.
func (l *leading) ask(who holder) (asked bool) {
	q := l.held[who]
	for i := 0; q != nil && i < q.Len() && q.At(i).syncs(); i++ {
		if w := q.At(i); w.token == 0 {
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
	if l.m.Weak(weakness.SyncWithoutQuorum) {
		for _, u := range l.unasked {
			if u.link == 0 {
				l.synced([]uint64{u.token})
			}
		}
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
			l.m.answer(itemOf(l.held[who].Front()))
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
	l.held[who].Pop()
	l.advance(who)
}

// advance prepares what was held back, up to the next sync.
func (l *leading) advance(who holder) {
	q := l.held[who]
	for q.Len() > 0 && !q.Front().syncs() {
		w := *q.Front()
		q.Pop()
		l.prepare(&w)
	}
	l.m.again = true
	switch {
	case q.Len() == 0:
		delete(l.held, who)
	case q.Front().link == 0 || who.link != 0:
		l.ask(who)
	default:
		l.askNext(q.Front().link)
	}
}

// gone forgets the syncs of a learner that is gone, and takes up what waited behind them.
func (l *leading) gone(link zab.LinkID) {
	delete(l.order, link)
	for who, q := range l.held {
		var rest flow.FIFO[write]
		for ; q.Len() > 0; q.Pop() {
			if w := q.Front(); w.link != link || who.link == 0 && !w.syncs() {
				rest.Push(*w)
			} else if w.token != 0 {
				delete(l.syncs, w.token)
			}
		}
		*q = rest
		if q.Len() == 0 || q.Front().token == 0 {
			l.advance(who)
		}
	}
}

// verdict is whether a request may go on, as far as that does not depend on the state of its session.
func (l *leading) verdict(w *write) (code proto.ErrCode, drop bool) {
	s := l.m
	noRoom := w.session != 0 && (l.refuses || s.Guard.Full())
	return s.verdict(&asked{client: w.client != nil, session: w.local, op: w.op, at: w.at, noRoom: noRoom})
}

// prepare turns a request into a txn, or into an answer that has its place between txns.
func (l *leading) prepare(w *write) {
	s := l.m
	it := itemOf(w)
	if w.local != nil && w.client == nil && !s.Tracker.Knows(w.local) {
		return // of an earlier leadership, in which the session seemed to have expired
	}
	code, drop := w.code, w.drop
	if w.op != proto.OpSync {
		code, drop = l.verdict(w)
	}
	switch {
	case drop:
		it.Drop = true
		l.between(it)
		return
	case code != proto.OK, w.op == proto.OpCreateSession, w.op == proto.OpCloseSession, w.session == 0:
	case w.moved:
		code = proto.ErrSessionMoved
	case s.peers == nil && w.local != nil && !w.local.IsClosing():
		if w.at > w.local.Heard() { // the sessions of a standalone server have no other server to move to
			w.local.Touch(w.at)
		}
	default:
		code = s.Tracker.Check(w.session, w.link, s.Config.LocalSessionsEnabled, w.at)
		if code == proto.ErrSessionMoved && s.Weak(weakness.MovedSessionKeepsWrite) {
			code = proto.OK
		}
	}
	if code != proto.OK && w.link == 0 {
		it.Err = code
		l.between(it)
		return
	}
	if code == proto.OK && mustUpgrade(w.local, w.op, w.body) && s.Config.LocalSessionsUpgradingEnabled {
		l.upgrade(w)
	}
	if w.op == proto.OpCreateSession && w.link != 0 {
		l.trackForwarded(w)
	}
	l.propose(w, it, code)
}

// upgrade makes a local session of a client of this server global, ahead of the request that needs it.
func (l *leading) upgrade(w *write) {
	timeout := proto.AppendInt32(nil, w.local.TimeoutMs())
	l.propose(&write{session: w.session, op: proto.OpCreateSession, body: timeout},
		flow.Item{Op: proto.OpCreateSession}, proto.OK)
	l.m.Tracker.MakeGlobal(w.session)
}

// trackForwarded begins to track a session that a learner creates.
func (l *leading) trackForwarded(w *write) {
	r := proto.NewReader(w.body)
	if timeoutMs := r.Int32(); r.Err() == nil {
		l.m.Tracker.Track(w.session, timeoutMs, w.link, l.m.Clock.Now())
	}
}

// propose prepares the txn. Every forwarded request becomes one, if only an error. Source: quorum-protocol 8.2.
func (l *leading) propose(w *write, it flow.Item, code proto.ErrCode) {
	s := l.m
	room := len(w.body) + 1024
	if len(w.body) > payloadChunk/2 {
		room = 2 * len(w.body)
	}
	l.payloads.reserve(room, l.next-1, proto.Zxid(s.Finished.Load()))
	chunk := l.payloads.chunk
	start := len(chunk)
	l.hold()
	now := l.wallMs
	ok := false
	if code == proto.OK {
		l.req = prepare.Request{Session: w.session, Cxid: w.xid, Op: w.op, Body: w.body, Identities: w.ids,
			LocalSession: s.Config.LocalSessionsEnabled && w.session != 0 && s.Tracker.IsLocal(w.session)}
		if len(w.body) >= limits.SmallWrite && w.op != proto.OpMulti { // a multi rests
			l.letGo()
			s.Store.Long.Lock()
			l.hold()
			chunk, code, ok = l.preparer.Prepare(chunk, &l.req, l.next, now)
			l.letGo()
			s.Store.Long.Unlock()
		} else {
			chunk, code, ok = l.preparer.Prepare(chunk, &l.req, l.next, now)
		}
	}
	if !ok {
		if w.link == 0 {
			it.Err = code
			l.between(it)
			return
		}
		header := proto.TxnHeader{ClientID: w.session, Cxid: w.xid, Zxid: l.next, Time: now, Type: w.op}
		chunk = prepare.AppendErrorTxn(chunk, header, code)
	}
	l.payloads.chunk = chunk
	payload := chunk[start:len(chunk):len(chunk)]
	e := entry{zxid: l.next, txn: true, item: it}
	if create2 := l.preparer.Create2(); ok && len(create2) > 0 && w.client != nil {
		e.create2 = append([]int32(nil), create2...)
	}
	if ok && code == proto.OK && w.op == proto.OpReconfig {
		l.reconfig = l.next
	}
	l.entries.Push(e)
	l.txns = append(l.txns, zab.Txn{Zxid: l.next, Payload: payload})
	l.next++
	if w.op == proto.OpCloseSession {
		s.Tracker.SetClosing(w.session)
	}
}

// between puts an answer behind everything that was prepared so far.
func (l *leading) between(it flow.Item) {
	if l.entries.Len() == 0 {
		l.m.answer(it)
		return
	}
	l.entries.Push(entry{zxid: l.next - 1, item: it})
}

// calm implements role.
func (l *leading) calm() bool { return l.entries.Len() <= calmMax && len(l.held) == 0 }

// flush implements role.
func (l *leading) flush() {
	l.letGo()
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
				l.m.Log.Warn("no more proposals in this epoch", zap.Error(err))
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

// renew lets the core begin the next epoch, unless something is prepared and not proposed: then the core asks again.
func (l *leading) renew() {
	if l.flush(); len(l.txns) == 0 && !l.refused {
		l.m.core.Renew()
		l.next = l.m.core.NextZxid()
		l.m.again = true
	}
}

// proposed counts.
func (l *leading) proposed(txns []zab.Txn) {
	if l.m.peers == nil {
		return
	}
	var sizes figures.SizeRange
	for i := range txns {
		sizes.Add(int64(len(txns[i].Payload)))
	}
	l.m.Metrics.Quorum.ProposalSize.Merge(sizes)
	l.m.Metrics.Quorum.Proposals.Add(int64(len(txns)))
	l.acks.Proposed(txns)
}

// acknowledged measures a learner that has acknowledged all up to z, or, if it is in Java, z.
func (l *leading) acknowledged(id proto.ServerID, z proto.Zxid) {
	if ms, ok := l.acks.acknowledged(id, z, l.m.Clock.WallMs()); ok {
		l.m.Metrics.Quorum.AckLatency.Of(strconv.FormatInt(int64(id), 10)).Observe(ms)
	}
}

// deliver implements role.
func (l *leading) deliver(txns []zab.Txn, out func(zab.Txn, flow.Item, []int32)) {
	if q := l.m.Metrics.Quorum; l.m.peers != nil {
		q.Commits.Add(int64(len(txns)))
		q.QuorumAck.Observe(max(l.m.Clock.WallMs()-flow.TxnTime(txns[len(txns)-1].Payload), 0))
	}
	if l.entries.Len() > 0 && l.entries.Front().item.Client != nil {
		s := l.m
		s.Stats.DurableTime.Observe(figures.Ms(s.Clock.Now() - l.entries.Front().item.Received))
	}
	for _, t := range txns {
		l.answered(t.Zxid-1, out)
		if l.entries.Len() > 0 && l.entries.Front().zxid == t.Zxid && l.entries.Front().txn {
			e := l.entries.Front()
			out(t, e.item, e.create2)
			l.entries.Pop()
		} else {
			out(t, remoteItem(t.Payload), nil) // of the history, or the core's own
		}
		l.answered(t.Zxid, out)
	}
}

// answered gives out the answers that have their place up to z.
func (l *leading) answered(z proto.Zxid, out func(zab.Txn, flow.Item, []int32)) {
	for l.entries.Len() > 0 && l.entries.Front().zxid <= z && !l.entries.Front().txn {
		out(zab.Txn{}, l.entries.Front().item, nil)
		l.entries.Pop()
	}
}

// end implements role.
func (l *leading) end() {
	l.letGo()
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
	for _, q := range l.held {
		for ; q.Len() > 0; q.Pop() {
			lost(itemOf(q.Front()))
		}
	}
	if len(items) > 0 {
		l.m.answer(items...)
	}
	if l.m.peers != nil {
		l.m.Tracker.Follow() // the next leader decides what becomes of the sessions
	}
}

// itemOf is whom to answer for a request.
func itemOf(w *write) flow.Item {
	it := flow.Item{Session: w.local, Received: w.at, Xid: w.xid, Op: w.op}
	if w.link == 0 {
		it.Client = w.client
	}
	return it
}

// prepareConfig is what of the configuration decides about txns.
func (m *Host) prepareConfig() prepare.Config {
	return prepare.Config{
		Digest:                  m.Config.DigestEnabled,
		EmptyClose:              !m.Config.CloseSessionTxn,
		EnforceQuota:            m.Config.EnforceQuota,
		MaxTxnBytes:             m.Config.JuteMaxBuffer + m.Config.JuteMaxBufferExtra,
		ExtendedTypes:           m.Config.ExtendedTypes,
		MaxContainerNeverUsedMs: m.Config.Container.MaxNeverUsed.Milliseconds(),
		Providers:               security.Providers(m.Config),
		ReconfigEnabled:         m.Config.ReconfigEnabled,
		Events:                  prepareEvents{m},
		Rest:                    m.Store.Rest,
		NoRollback:              m.Weak(weakness.MultiNotUndone),
	}
}

// loseEphemeral is weakness.EphemeralsLostOnMove.
func (l *leading) loseEphemeral(id proto.SessionID) {
	l.hold()
	paths := l.m.Store.EphemeralsOf(id)
	l.letGo()
	if len(paths) > 0 {
		req := proto.DeleteRequest{Path: []byte(paths[0]), Version: -1}
		l.propose(&write{op: proto.OpDelete, body: req.AppendTo(nil), ids: []auth.Identity{auth.SuperIdentity("")}},
			flow.Item{Op: proto.OpDelete}, proto.OK)
	}
}

// prepareEvents turns what happens while txns are prepared into the log.
type prepareEvents struct{ m *Host }

// QuotaExceeded implements prepare.Events.
func (e prepareEvents) QuotaExceeded(path []byte, hard bool) {
	if hard {
		e.m.Metrics.QuotaExceeded.Of(quota.Namespace(path)).Inc()
	}
	e.m.Log.Warn("quota exceeded", zap.ByteString("path", path), zap.Bool("refused", hard))
}

// SequenceExhausted implements prepare.Events.
func (e prepareEvents) SequenceExhausted(parent []byte) {
	e.m.Log.Error("sequence counter is at its limit: sequential creates fail under this znode from now on",
		zap.ByteString("path", parent))
}
