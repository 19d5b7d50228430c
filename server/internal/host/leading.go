package host

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/syncs"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// leading is the role of a leader. It turns requests into txns: those of its own clients and those that learners
// forward. Owned by the host goroutine.
//
// Invariant: entries are in the order of their zxids, so a committed txn belongs to the front entry.
type leading struct {
	m          *Host
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
	epoch    int64
	handing  *handing // a handover that has begun; nil if there is none
	acks     ackTime
	// lost says since when sessions have had no server, by the links to learners that are gone and by OwnerUnknown, ns
	// on the server's clock.
	lost map[zab.LinkID]int64

	syncs *syncs.Queue[write] // syncs that are not answered, and the requests behind them
}

// entry is a txn of this leader that is not committed, or an answer that has its place between txns.
type entry struct {
	zxid    proto.Zxid // of the txn, or of the one before the answer
	txn     bool
	item    flow.Item
	create2 []int32
}

// write is a request on its way to the Preparer, from a client of this server (link 0) or from a learner.
type write struct {
	link    zab.LinkID
	java    bool // the learner is a server in Java
	client  flow.Client
	local   *sessions.Session // of a client of this server, or of the session clock
	session proto.SessionID
	xid     int32
	op      proto.OpCode
	body    []byte
	ids     []auth.Identity
	at      int64         // when it was received, ns on the server's clock
	taken   int64         // when this role began with it; 0 if that is not measured
	code    proto.ErrCode // of a sync: the verdict when it arrived
	drop    bool          // of a sync: the same
	global  bool          // the learner says that every server knows the session
	moved   bool          // the client has a newer connection, to another server or to this one
}

// syncs reports whether w is a sync that the agreement answers.
func (w *write) syncs() bool { return w.op == proto.OpSync && w.code == proto.OK && !w.drop }

// Bounds of what a leader has in flight. The bounds of the core are above them.
const (
	inFlightMax = 40_000
	proposeMax  = 1024
)

func newLeading(m *Host) *leading {
	l := &leading{m: m, next: m.core.NextZxid(), epoch: m.status.Epoch}
	l.syncs = syncs.New(l.needs())
	l.payloads.reuse = m.peers == nil
	m.policy.Begin()
	l.acks.every = uint32(min(max(m.Config.Quorum.AckLoggingFrequency, 1), math.MaxInt32))
	m.Store.Mu.RLock()
	l.last = m.Store.State.LastZxid()
	l.done = l.last
	cfg := m.prepareConfig()
	if m.peers != nil {
		cfg.Reconfigure = l.reconfigure
	}
	l.preparer = prepare.New(m.Store.State, cfg)
	now := m.Clock.Now()
	m.Tracker.Lead(m.Store.State.EachSession, now)
	m.Store.Mu.RUnlock()
	m.silence.inherit(m.Tracker, l.epoch, now)
	l.lost = map[zab.LinkID]int64{sessions.OwnerUnknown: now}
	return l
}

// needs is what the queue of syncs needs.
func (l *leading) needs() syncs.Needs[write] {
	return syncs.Needs[write]{
		Propose: l.flush,
		MayAsk:  func() bool { return len(l.txns) == 0 && !l.refused },
		Ask: func(link zab.LinkID, token uint64) {
			if l.m.core.Sync(link, token) != nil {
				l.refused = true // the role ends, and what is not answered is dropped with it
			}
			l.m.again = true
		},
		Prepare: func(w write) {
			l.prepare(&w)
			l.m.again = true
		},
	}
}

// lockState takes the read lock of the state, until unlockState: all requests of a turn are prepared under one
// hold. REQUIRES: the goroutine takes that lock nowhere else until unlockState.
func (l *leading) lockState() {
	if !l.locked {
		l.m.Store.Mu.RLock()
		l.locked, l.wallMs, l.taken = true, l.m.Clock.WallMs(), l.m.measured()
	}
}

// unlockState releases the lock that lockState has taken. It is called before the turn handles anything but
// requests.
func (l *leading) unlockState() {
	if l.locked {
		l.m.Store.Mu.RUnlock()
		l.locked = false
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
	l.m.release(r)
	return true
}

// Packet implements role.
func (l *leading) Packet(link *link, p *peers.Packet) {
	switch p.Type {
	case proto.PacketRequest:
		w := write{link: link.ID, java: !link.warren, at: l.m.Clock.Now(), moved: p.Zxid == peers.MovedZxid,
			global: p.Zxid == peers.GlobalZxid}
		if err := decodeForwarded(p, &w, l.m.Config.SASL.AnyUser); err != nil {
			l.m.Log.Warn("closing the link to a learner: its request is malformed",
				zap.Int64("server", int64(link.Peer)), zap.Error(err))
			l.m.peers.Close(link.ID)
			return
		}
		l.take(&w)
	case proto.PacketPing:
		l.m.Tracker.Touched(p.Data, l.m.Clock.Now())
		l.m.member.Unfit(link.Peer, saysNoRoom(p.Data))
		link.priority, link.idle = saysPriority(p.Data), saysIdle(p.Data)
	case proto.PacketRevalidate:
		if !l.m.MayAnswer() || l.handing != nil {
			return // the learner may not answer either: its client tries another server
		}
		l.m.Metrics.Quorum.Revalidations.Inc()
		r := proto.NewReader(p.Data)
		id, timeoutMs := proto.SessionID(r.Int64()), r.Int32()
		if link.warren && l.m.Tracker.Ends(id) {
			return // its end may come to nothing; a learner in Java is answered as by a leader in Java
		}
		from, note, valid := l.m.Tracker.Revalidate(id, timeoutMs, link.ID, l.m.Clock.Now())
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
		for id, heard := range sessions.EachSilent(p.Data, l.m.Clock.Now()) {
			l.m.Tracker.Released(id, link.ID, heard)
		}
	case peers.PacketHold:
		if l.handing != nil {
			delete(l.handing.waits, link.ID)
		}
	}
}

// resume implements role: the session goes on here, if it exists, as soon as it is noted that it has moved.
func (l *leading) resume(r *flow.Resumption) {
	if l.handing != nil || l.m.Tracker.Ends(r.ID) {
		r.Client.Abort() // no session moves now; an end that has begun is not final before it is committed
		return
	}
	from, note, valid := l.m.Tracker.Revalidate(r.ID, r.TimeoutMs, 0, r.Received)
	if !valid {
		r.Client.Resumed(nil, nil, 0, false)
		return
	}
	l.outdate(r.ID)
	l.moved(r.ID, from, 0)
	l.move(move{id: r.ID, timeoutMs: r.TimeoutMs, client: r}, note)
}

// outdate refuses the requests of a session that wait behind a sync: its client has a newer connection. REQUIRES: the
// session has gone there. If it stays where it is, what has not arrived yet of its requests is not refused, and must
// not be executed without these.
func (l *leading) outdate(id proto.SessionID) {
	l.syncs.Behind(id, func(w *write) { w.moved = true })
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
			l.m.answer(itemOf(w))
			l.answeredSync(token)
		}
	}
}

// answeredSync continues with the requests that waited behind a sync.
func (l *leading) answeredSync(token uint64) {
	if l.syncs.Answered(token) {
		l.m.again = true
	}
}

// gone forgets a learner after its link has closed.
func (l *leading) gone(link zab.LinkID) {
	if l.handing != nil {
		delete(l.handing.waits, link)
	}
	l.syncs.Gone(link)
	l.lost[link] = l.m.Clock.Now()
}

// verdict decides whether a request may go on, as far as that does not depend on the state of its session.
func (l *leading) verdict(w *write) (code proto.ErrCode, drop bool) {
	m := l.m
	if w.op == proto.OpDeleteContainer && w.session != 0 {
		return proto.ErrUnimplemented, false // of a client, passed on by a server in Java; only the reaper may send it
	}
	noRoom := w.session != 0 && (l.refuses || m.Guard.Full())
	return m.verdict(&verdictInput{client: w.client != nil, session: w.local, op: w.op, at: w.at, noRoom: noRoom})
}

// prepare turns a request into a txn, or into an answer that has its place between txns.
func (l *leading) prepare(w *write) {
	m := l.m
	if w.op == proto.OpCloseSession && w.local != nil && w.local.IsLocal() {
		l.between(itemOf(w)) // no txn, but its place behind the requests of the session that wait behind a sync
		return
	}
	if w.local != nil && w.client == nil && !m.Tracker.Knows(w.local) {
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
	if code == proto.OK && mustUpgrade(w.local, w.op, w.body) && m.Config.LocalSessionsUpgradingEnabled {
		l.upgrade(w)
	}
	if w.op == proto.OpCreateSession && w.link != 0 {
		l.trackForwarded(w)
	}
	l.propose(w, code)
}

// checkSession decides whether a request may be taken, as far as that depends on its session: the session lives, or
// is a local one of a learner, and its client is where the request comes from.
func (l *leading) checkSession(w *write) proto.ErrCode {
	m := l.m
	switch {
	case w.op == proto.OpCreateSession, w.op == proto.OpCloseSession, w.session == 0:
		return proto.OK
	case w.moved:
		return proto.ErrSessionMoved
	}
	return m.Tracker.Check(w.session, w.link, m.Config.LocalSessionsEnabled && !w.global, w.at)
}

// upgrade makes a local session of a client of this server global, before the request that needs a global session.
func (l *leading) upgrade(w *write) {
	timeout := proto.AppendInt32(nil, w.local.TimeoutMs())
	l.propose(&write{session: w.session, op: proto.OpCreateSession, body: timeout}, proto.OK)
	l.m.Tracker.MakeGlobal(w.session)
}

// trackForwarded begins to track a session that a learner creates.
func (l *leading) trackForwarded(w *write) {
	r := proto.NewReader(w.body)
	if timeoutMs := r.Int32(); r.Err() == nil {
		l.m.Tracker.Track(w.session, timeoutMs, w.link, l.m.Clock.Now())
	}
}

// propose prepares the txn. Every forwarded request becomes a txn, if only an error txn. Source: quorum-protocol
// 8.2.
func (l *leading) propose(w *write, code proto.ErrCode) {
	m := l.m
	room := len(w.body) + 1024
	if len(w.body) > payloadChunk/2 {
		room = 2 * len(w.body)
	}
	l.payloads.reserve(room, l.next-1, proto.Zxid(m.Finished.Load()))
	chunk := l.payloads.chunk
	start := len(chunk)
	l.lockState()
	w.taken = l.taken
	now := l.wallMs
	ok := false
	if code == proto.OK {
		req := &l.req
		req.Session, req.Cxid, req.Op, req.Body, req.Identities = w.session, w.xid, w.op, w.body, w.ids
		req.LocalSession = m.Config.LocalSessionsEnabled && w.session != 0 && m.Tracker.IsLocal(w.session)
		if l.takesLong(w) {
			l.unlockState()
			m.Store.Long.Lock()
			l.lockState()
			chunk, code, ok = l.preparer.Prepare(chunk, &l.req, l.next, now)
			l.unlockState()
			m.Store.Long.Unlock()
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
		m.Tracker.SetClosing(w.session)
	}
}

// takesLong reports whether it takes long to prepare a request, so that short readers should not have to wait behind
// the applier meanwhile. A multi releases the lock itself now and then. REQUIRES: lockState.
func (l *leading) takesLong(w *write) bool {
	if w.op == proto.OpCloseSession {
		return l.m.Store.State.FirstEphemerals(w.session, 0, func(datatree.NodeID) {}) >= manyEphemerals
	}
	return len(w.body) >= limits.SmallWrite && w.op != proto.OpMulti
}

// manyEphemerals is how many ephemerals a session has whose end takes long to prepare: more than a third of a
// millisecond.
const manyEphemerals = 4096

// refuse answers a request that becomes no txn.
func (l *leading) refuse(w *write, code proto.ErrCode) {
	it := itemOf(w)
	it.Err = code
	l.between(it)
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
func (l *leading) calm() bool { return l.entries.Len() <= calmMax && l.syncs.Empty() }

// flush implements role.
func (l *leading) flush() {
	l.unlockState()
	for len(l.txns) > 0 && !l.refused {
		txns := l.portion()
		err := l.m.core.Propose(txns...)
		if errors.Is(err, zab.ErrBusy) {
			return // txns in flight cause further turns, and each turn tries again
		}
		l.m.again = true
		if err != nil {
			// The leadership is handed over, or its epoch is exhausted. Txns that were not taken are lost with the
			// role. Their clients see that the connection is lost.
			if !errors.Is(err, zab.ErrNotLeading) {
				l.m.Log.Warn("giving up the leadership: this epoch accepts no more proposals", zap.Error(err))
				l.m.core.HandOver(false)
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
		l.m.member.Renew()
		l.next = l.m.core.NextZxid()
		l.m.again = true
	}
}

// proposed counts txns that were proposed.
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

// acknowledged measures how long a learner took to acknowledge. z acknowledges all txns up to z, or from a learner
// in Java z alone.
func (l *leading) acknowledged(id proto.ServerID, z proto.Zxid) {
	if ms, ok := l.acks.acknowledged(id, z, l.m.Clock.WallMs()); ok {
		l.m.Metrics.Quorum.AckLatency.Of(strconv.FormatInt(int64(id), 10)).Observe(ms)
	}
}

// deliver implements role.
func (l *leading) deliver(txns []zab.Txn, b *flow.ApplyBatch) {
	if q := l.m.Metrics.Quorum; l.m.peers != nil {
		q.Commits.Add(int64(len(txns)))
		q.QuorumAck.Observe(max(l.m.Clock.WallMs()-flow.TxnTime(txns[len(txns)-1].Payload), 0))
	}
	if l.entries.Len() > 0 && l.entries.Front().item.Client != nil {
		m := l.m
		m.Stats.DurableTime.Observe(figures.Ms(m.Clock.Now() - l.entries.Front().item.Received))
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
		l.m.answer(items...)
	}
	l.movesEnd()
	if l.m.peers != nil {
		l.m.silence.leadingEnds(l.m.Clock.Now())
		l.m.Tracker.Follow() // the next leader decides about the sessions
	}
}

// itemOf returns the item by which a request is answered.
func itemOf(w *write) flow.Item {
	var it flow.Item
	w.fill(&it)
	return it
}

// fill makes a zero item the one by which the request is answered.
func (w *write) fill(it *flow.Item) {
	it.Session, it.Received, it.Taken, it.Xid, it.Op = w.local, w.at, w.taken, w.xid, w.op
	if w.link == 0 {
		it.Client = w.client
	}
}

// prepareConfig returns the settings that influence txns.
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
	}
}

// prepareEvents logs what happens while txns are prepared.
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
