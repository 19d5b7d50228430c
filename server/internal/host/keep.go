package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/host/syncs"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// The part of the roles in keeping client connections over a change of the leader: see package kept.

// reclaimed answers a learner that asks for the session of a client which has kept its connection.
func (l *leading) reclaimed(link *link, p *peers.Packet) {
	r := proto.NewReader(p.Data)
	id, heard := proto.SessionID(r.Int64()), l.Clock.Now()
	if r.Len() > 0 { // otherwise the learner is an older one
		heard -= int64(max(r.Int32(), 0)) * int64(time.Millisecond)
	}
	granted := l.MayAnswer() && l.gives(id, link, heard)
	data := proto.AppendBool(proto.AppendInt64(nil, int64(id)), granted)
	l.h.links.send(link, &peers.Packet{Type: peers.PacketReclaim, Zxid: l.last, Data: data})
}

// gives reports whether a learner gets the session of a kept connection, because no server has it, or because the
// learner had it on a link that is gone: all that came on that link is proposed, or never will be. Only what waits
// behind a sync from another server is still to be proposed.
func (l *leading) gives(id proto.SessionID, link *link, heard int64) bool {
	if l.syncs.Holds(syncs.Key{Session: id}) {
		return false
	}
	return l.Tracker.Reclaim(id, link.ID, heard, func(owner zab.LinkID) bool {
		lost, is := l.lost[owner]
		return is && lost.peer == link.Peer && link.Peer >= 0 // observers without an id are many
	})
}

// moved ends the connection of a session at the server that had it, because it is elsewhere now. Its client may still
// be there: the other server may have been late to ask for a connection that the client has given up. When that one
// ends, the session would count as silent, although its client is answered.
func (l *leading) moved(id proto.SessionID, from, to zab.LinkID) {
	if from == to {
		return
	}
	if from == ownHere {
		abort(l.Tracker.Serving(id))
		return
	}
	switch link := l.h.links.open[from]; {
	case link == nil:
	case link.warren:
		l.h.sendMoved(link, id)
	default: // its server does not know, and its client may go on there
		l.Tracker.Doubt(id)
	}
}

// ownHere is the owner of sessions whose clients are at this server.
const ownHere zab.LinkID = 0

func abort(c sessions.Conn) {
	if c != nil {
		c.Abort()
	}
}

// sendMoved tells a server that a session which it had is elsewhere now.
func (h *Host) sendMoved(to *link, id proto.SessionID) {
	h.links.send(to, &peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, int64(id))})
}

// keeping are the client connections that outlive the loss of a leader, if there are any. Owned by the host goroutine.
//
// Invariant: former is nil if now is.
type keeping struct {
	now *kept.Connections // nil if there are none
	// former is the role that has ended, of a learner. It goes on to answer requests that it has forwarded: those of
	// their txns that are committed come back before their connections go on.
	former *following
}

// park sets the requests of kept connections aside, and returns the others.
func (k *keeping) park(waiting []*flow.Batch) []*flow.Batch {
	if k.now == nil || len(waiting) == 0 {
		return waiting
	}
	return k.now.Park(waiting)
}

// of returns the kept connection of a session, if there is one.
func (k *keeping) of(id proto.SessionID) (flow.Held, bool) {
	if k.now == nil {
		return flow.Held{}, false
	}
	return k.now.Of(id)
}

// asked is the role that has forwarded the requests of a session that are not answered: f, which serves or has served
// last, or the role before it if the connection waits.
func (k *keeping) asked(f *following, id proto.SessionID) *following {
	if k.former == nil || k.former == f {
		return f
	}
	if _, waits := k.of(id); !waits {
		return f
	}
	return k.former
}

// goOn ends the wait of a kept connection: it goes on, or it ends. It does nothing if none waits for the session.
func (k *keeping) goOn(id proto.SessionID, granted bool) {
	if _, waits := k.of(id); waits {
		k.now.GoOn(id, granted)
		k.forget()
	}
}

// forget forgets the kept connections when the last of them has gone on or ended.
func (k *keeping) forget() {
	if k.now.Len() == 0 {
		*k = keeping{}
	}
}

// drop ends the connections that are kept.
func (k *keeping) drop() {
	if k.now != nil {
		k.now.Drop()
		*k = keeping{}
	}
}

// expire ends the connections that were kept for too long.
func (k *keeping) expire(log *zap.Logger) {
	if k.now == nil {
		return
	}
	if ended := k.now.Expire(); ended > 0 {
		k.forget()
		log.Warn("closing client connections that outlived the leader: no other leader has granted their sessions",
			zap.Int("sessions", ended))
	}
}

// keep lets the connections of clients outlive the role that ends, if they can. It is called before the
// role ends.
func (h *Host) keep() (k keeping) {
	if h.status.Stopped || h.stop || h.status.Fatal != nil || h.Config.ConnectionKeep <= 0 {
		return k
	}
	var former *following
	switch r := h.role.(type) {
	case *leading:
		if r.handing == nil || !r.handing.begun {
			return k
		}
	case *following:
		if r.link == nil || !r.handed && r.link.ID != h.noting || h.status.Outside != nil {
			return k
		}
		former = r
	default:
		return k
	}
	now, own := h.Clock.Now(), h.Tracker.Own()
	held := h.clients.HoldAll(func(s *sessions.Session) bool { return own[s] })
	if len(held) == 0 {
		return k
	}
	until := func(s *sessions.Session) int64 {
		return min(now+int64(min(h.Config.ConnectionKeep, s.Timeout()/3)), h.AnswersUntil(s.Timeout()))
	}
	return keeping{former: former, now: kept.New(h.epoch, held, until, kept.Needs{
		CanAskAgain: former.canAskAgain, AskAgain: former.askAgain, Lose: former.lose,
		Take: func(batches []*flow.Batch) {
			h.waiting = append(h.waiting, batches...)
			h.again = true
		},
		Unbind: h.Tracker.Unbind, Generation: h.Generation, Now: h.Clock.Now,
	})}
}

// resumeKept asks for the sessions of the kept connections, when a role has begun.
func (h *Host) resumeKept() {
	k := h.keeping.now
	if k == nil {
		return
	}
	if !k.Outlive(h.status.Epoch) {
		h.keeping.drop()
		return
	}
	switch r := h.role.(type) {
	case *leading:
		k.Each(func(held flow.Held, may bool) {
			may = may && h.Tracker.Retake(held.Session, held.Client, true, h.heard(held.Session))
			h.keeping.goOn(held.Session.ID, may)
		})
	case *following:
		if r.link == nil || !r.link.warren {
			h.keeping.drop()
			return
		}
		k.Each(func(held flow.Held, may bool) {
			if !may {
				h.keeping.goOn(held.Session.ID, false)
				return
			}
			data := sessions.AppendSilent(nil, []sessions.Silent{{ID: held.Session.ID, Heard: h.heard(held.Session)}},
				h.Clock.Now())
			r.link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: -1, Data: data})
		})
		h.links.touch(r.link)
	}
}

// grant is a session of a kept connection that the leader has granted. At that time it had proposed all txns up to
// proposed.
type grant struct {
	id       proto.SessionID
	proposed proto.Zxid
}

// granted handles the leader's answer about the session of a kept connection.
func (f *following) granted(p *peers.Packet) {
	r := proto.NewReader(p.Data)
	id, valid := proto.SessionID(r.Int64()), r.Bool()
	k := &f.h.keeping
	switch {
	case k.now == nil || r.Err() != nil:
	case !valid:
		k.goOn(id, false)
	case k.now.Back(f.epoch): // what this server has forwarded before it lost the leader may have become txns since
		f.grants.Push(grant{id, p.Zxid})
		f.delivered(f.h.reach.delivered)
	default:
		f.goesOn(grant{id, p.Zxid})
	}
}

// goesOn lets the kept connection of a session go on that was granted, unless its client has left it meanwhile.
func (f *following) goesOn(g grant) {
	h := f.h
	held, waits := h.keeping.of(g.id)
	if !waits {
		return
	}
	may := !h.keeping.now.HasMoved(g.id) &&
		h.Tracker.Retake(held.Session, held.Client, false, h.heard(held.Session))
	if may {
		f.below.Disown(g.id)
		held.Session.After = max(held.Session.After, g.proposed, h.reach.seen)
	}
	h.keeping.goOn(g.id, may)
}

// owed returns the requests of a session that the leader was given and that are not answered; nil if there are none.
// f is nil in the place of a former leader, which owes nothing.
func (f *following) owed(id proto.SessionID) *flow.FIFO[forwarded] {
	if f == nil {
		return nil
	}
	return f.pending[id]
}

// skipSyncs answers the syncs before a request, the txn of which is delivered, when the link to their leader is gone.
// The leader may have answered them, and the answers are lost. The txn serves as well: its leader was given the syncs
// before it made the txn, so all that was acknowledged before they were asked for is in the history before the txn.
func (f *following) skipSyncs(h *proto.TxnHeader, q *flow.FIFO[forwarded], b *flow.ApplyBatch) {
	n := 0
	for n < q.Len() && q.At(n).item.Op == proto.OpSync && !q.At(n).here {
		n++
	}
	if n == 0 || n == q.Len() || !q.At(n).became(h) {
		return
	}
	for range n {
		b.Add(&q.Front().item, nil, nil)
		f.pop(q)
	}
	f.forgetSyncs(h.ClientID)
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
	f.h.answer(items...)
	f.forgetSyncs(id)
}

// forgetSyncs forgets the syncs of a session that are answered and wait for txns.
func (f *following) forgetSyncs(id proto.SessionID) {
	for range f.answered.Len() {
		one := *f.answered.Front()
		if f.answered.Pop(); one.session != id {
			f.answered.Push(one)
		}
	}
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
	h := f.h
	for ; q.Len() > 0; q.Pop() {
		w := q.Front()
		b := h.RequestPool.Get()
		b.Received = w.item.Received
		b.Add(flow.Request{Client: w.item.Client, Session: w.item.Session, IDs: w.ids, Xid: w.item.Xid, Op: w.item.Op},
			w.body.Data)
		h.pending.Drop(w.body)
		all = append(all, b)
	}
	delete(f.pending, id)
	f.forgetSyncs(id)
	return all
}
