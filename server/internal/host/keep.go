package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
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
	granted := l.MayAnswer() && l.Tracker.Reclaim(id, link.ID, heard)
	data := proto.AppendBool(proto.AppendInt64(nil, int64(id)), granted)
	link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: l.next - 1, Data: data})
	l.h.links.touch(link)
}

// moved tells the learner that had a session that it is elsewhere now.
func (l *leading) moved(id proto.SessionID, from, to zab.LinkID) {
	if link := l.h.links.open[from]; link != nil && from != to && link.warren {
		link.SendPacket(&peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, int64(id))})
		l.h.links.touch(link)
	}
}

// keeping are the client connections that outlive a change of the leader, if there are any. Owned by the host
// goroutine.
//
// Invariant: former is nil if now is.
type keeping struct {
	now *kept.Connections // nil if there are none
	// former is the role that has ended, of a learner. It goes on to answer requests that it has forwarded: those of
	// their txns that are committed come back when this server is up to date again at the latest.
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
	var epoch int64
	var former *following
	switch r := h.role.(type) {
	case *leading:
		if r.handing == nil || !r.handing.begun {
			return k
		}
		epoch = r.epoch
	case *following:
		if r.link == nil || !r.handed && r.link.ID != h.noting || h.status.Outside != nil {
			return k
		}
		epoch, former = r.epoch, r
	default:
		return k
	}
	now, own := h.Clock.Now(), h.Tracker.Own()
	held := h.clients.HoldAll(func(s *sessions.Session) bool { return own[s] })
	until := func(s *sessions.Session) int64 {
		return min(now+int64(min(h.Config.ConnectionKeep, s.Timeout()/3)), h.AnswersUntil(s.Timeout()))
	}
	return keeping{former: former, now: kept.New(epoch, held, until, kept.Needs{
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

// granted handles the leader's answer about the session of a kept connection.
func (f *following) granted(p *peers.Packet) {
	h, r := f.h, proto.NewReader(p.Data)
	id, valid := proto.SessionID(r.Int64()), r.Bool()
	if h.keeping.now == nil || r.Err() != nil {
		return
	}
	held, waits := h.keeping.of(id)
	if !waits {
		return // its client has come back meanwhile, on another connection
	}
	if valid = valid && h.Tracker.Retake(held.Session, held.Client, false, h.heard(held.Session)); valid {
		f.below.Disown(id)
		held.Session.After = max(held.Session.After, p.Zxid, h.reach.seen)
	}
	h.keeping.goOn(id, valid)
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
	f.h.answer(items...)
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
	return all
}
