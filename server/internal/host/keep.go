package host

import (
	"cmp"
	"math"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A change of the leader costs no client of another Warren server its connection.
//
//   - Before it hands over, a leader asks its Warren learners to hold the requests of their clients (HOLD). A
//     learner answers behind the last request that it has forwarded. The leader takes no more requests of its own
//     clients. Then everything that was taken is committed, and the leader hands over.
//   - A server whose role ends by that hand-over, or a learner that has lost its leader, keeps the connections of its
//     clients. Requests that arrive wait.
//   - When the server serves again, it asks the next leader for the sessions of these connections (RECLAIM). A
//     connection whose session is granted goes on: with the requests that the former leader has taken and that are not
//     in the history, and then with those that wait. The others end, and so do all that are kept for too long.
//
// To a client this looks like a slow answer. To the ensemble it looks as if the client had reconnected to the same
// server.
//
// No request is lost or done twice. A leader makes the requests of a session that one learner forwards txns in their
// order, and makes a txn of each. When the server serves again, all txns of the former leader that will ever be
// committed have been delivered. So those requests that are txns are the first of the queue, and are answered. The
// others never become one, and are asked again.
//
// A connection does not go on whose client has left it for another server, because its requests would be executed
// after newer ones of the client. Three rules see to that:
//
//   - When a session moves, the leader tells the learner that had it (MOVED), and notes it in the history, before it
//     answers the client. While a hand-over is prepared no session moves. So a learner knows from the leader, or from
//     the history that it gets with the next one, which sessions were elsewhere.
//   - The next leader grants a session only as long as no other server has asked for it.
//   - No other leadership may have been between: the epoch must be the next one.
//
// A server that loads its state anew ends the connections: their watches would miss changes. No connection is kept
// beyond the lease of the server, nor for more than a third of the session timeout.

// reclaimed answers a learner that asks for the session of a client which has kept its connection.
func (l *leading) reclaimed(link *link, p *peers.Packet) {
	r := proto.NewReader(p.Data)
	id := proto.SessionID(r.Int64())
	granted := l.m.MayAnswer() && l.m.Tracker.Reclaim(id, link.ID)
	data := proto.AppendBool(proto.AppendInt64(nil, int64(id)), granted)
	link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: l.next - 1, Data: data})
	l.m.touch(link)
}

// moved tells the learner that had a session that it is elsewhere now.
func (l *leading) moved(id proto.SessionID, from, to zab.LinkID) {
	if link := l.m.links[from]; link != nil && from != to && link.warren {
		link.SendPacket(&peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, int64(id))})
		l.m.touch(link)
	}
}

// keeping are the client connections that outlive a change of the leader, until each goes on or ends.
type keeping struct {
	epoch int64 // of the leadership that has ended
	// former is the role that has ended, of a learner. It goes on to answer requests that it has forwarded: those of
	// their txns that are committed come back when this server is up to date again at the latest.
	former *following
	until  int64 // when the first of those that are left ends, ns on the server's clock
	order  []*kept
	byID   map[proto.SessionID]*kept
	waited map[flow.Client]*kept
}

// kept is one of these connections.
type kept struct {
	flow.Held
	batches []*flow.Batch // requests that wait
	until   int64         // when it ends, ns on the server's clock
	moved   bool          // the history says that the session was elsewhere
}

// keep lets the connections of clients outlive the role that ends, if they can. It returns nil if they cannot. It is
// called before the role ends.
func (m *Host) keep() *keeping {
	k := &keeping{byID: map[proto.SessionID]*kept{}, waited: map[flow.Client]*kept{}}
	if m.status.Stopped || m.stop || m.status.Fatal != nil || m.Config.ConnectionKeep <= 0 {
		return nil
	}
	switch r := m.role.(type) {
	case *leading:
		if r.handing == nil || !r.handing.begun {
			return nil
		}
		k.epoch = r.epoch
	case *following:
		if r.link == nil || !r.handed && r.link.ID != m.noting || m.status.Outside != nil {
			return nil
		}
		k.epoch, k.former = r.epoch, r
	default:
		return nil
	}
	now, own := m.Clock.Now(), m.Tracker.Own()
	for _, h := range m.clients.HoldAll(func(s *sessions.Session) bool { return own[s] }) {
		one := &kept{Held: h}
		one.until = min(now+int64(min(m.Config.ConnectionKeep, h.Session.Timeout()/3)), m.LeaseEnd.Load())
		k.order = append(k.order, one)
		k.byID[h.Session.ID], k.waited[h.Client] = one, one
	}
	slices.SortFunc(k.order, func(a, b *kept) int { return cmp.Compare(a.Session.ID, b.Session.ID) })
	return k
}

// park sets the requests of kept connections aside.
func (m *Host) park() {
	if m.keeping == nil || len(m.waiting) == 0 {
		return
	}
	rest := m.waiting[:0]
	for _, b := range m.waiting {
		if one := m.keeping.waited[b.Requests[b.Taken].Client]; one != nil {
			one.batches = append(one.batches, b)
		} else {
			rest = append(rest, b)
		}
	}
	clear(m.waiting[len(rest):])
	m.waiting = rest
}

// resumeKept asks for the sessions of the kept connections, when a role has begun.
func (m *Host) resumeKept() {
	k := m.keeping
	if k == nil {
		return
	}
	if m.status.Epoch != k.epoch+1 {
		m.dropKept()
		return
	}
	switch r := m.role.(type) {
	case *leading:
		for _, one := range k.order {
			m.goOn(one, k.may(one) && m.Tracker.Retake(one.Session, one.Client, true, m.Clock.Now()))
		}
	case *following:
		if r.link == nil || !r.link.warren {
			m.dropKept()
			return
		}
		for _, one := range k.order {
			if !k.may(one) {
				m.goOn(one, false)
				continue
			}
			data := proto.AppendInt64(nil, int64(one.Session.ID))
			r.link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: -1, Data: data})
		}
		m.touch(r.link)
	}
}

// may reports whether a connection may go on, as far as this server knows: its session was not elsewhere, and what it
// is owed can be asked again.
func (k *keeping) may(one *kept) bool {
	if one.moved {
		return false
	}
	for i := 0; i < k.owed(one).Len(); i++ {
		if !k.owed(one).At(i).kept {
			return false
		}
	}
	return true
}

// owed returns the requests of a connection that the former leader was given and that are not answered.
func (k *keeping) owed(one *kept) *flow.FIFO[forwarded] {
	if k.former != nil {
		if q := k.former.pending[one.Session.ID]; q != nil {
			return q
		}
	}
	return &flow.FIFO[forwarded]{}
}

// elsewhere notes that the history has a txn of a session which this server has not asked for.
func (k *keeping) elsewhere(h *proto.TxnHeader) {
	if one := k.byID[h.ClientID]; one != nil && h.Zxid > one.Session.After {
		one.moved = true
	}
}

// granted handles the leader's answer about the session of a kept connection.
func (f *following) granted(p *peers.Packet) {
	r := proto.NewReader(p.Data)
	id, valid := proto.SessionID(r.Int64()), r.Bool()
	if f.m.keeping == nil || r.Err() != nil {
		return
	}
	one := f.m.keeping.byID[id]
	if one == nil {
		return // its client has come back meanwhile, on another connection
	}
	if valid = valid && f.m.Tracker.Retake(one.Session, one.Client, false, f.m.Clock.Now()); valid {
		f.below.disown(id)
		one.Session.After = max(one.Session.After, p.Zxid, f.m.seen)
	}
	f.m.goOn(one, valid)
}

// goOn ends the wait of a kept connection: it goes on, or it ends. It does nothing if the wait is over already.
func (m *Host) goOn(one *kept, granted bool) {
	k := m.keeping
	if k == nil || k.byID[one.Session.ID] != one {
		return
	}
	delete(k.byID, one.Session.ID)
	delete(k.waited, one.Client)
	again := m.askAgain(one, granted)
	if !one.Client.Release(m.generation.Load(), granted) && granted {
		m.Tracker.Unbind(one.Session, one.Client) // the client has closed it meanwhile
	}
	// take drops those of a connection that does not go on.
	m.waiting = append(append(m.waiting, again...), one.batches...)
	m.again = true
	if len(k.byID) == 0 {
		m.keeping = nil
	}
}

// askAgain takes the requests of a connection that the former leader was given and that are not answered back. If the
// connection goes on it returns them, to be taken as if they had just arrived; otherwise they are lost.
func (m *Host) askAgain(one *kept, goesOn bool) (all []*flow.Batch) {
	q := m.keeping.owed(one)
	if q.Len() == 0 {
		return nil
	}
	if !goesOn {
		m.keeping.former.lose(one.Session.ID)
		return nil
	}
	for ; q.Len() > 0; q.Pop() {
		w := q.Front()
		b := m.RequestPool.Get()
		b.Received = w.item.Received
		b.Add(flow.Request{Client: w.item.Client, Session: w.item.Session, IDs: w.ids, Xid: w.item.Xid, Op: w.item.Op},
			w.body.data)
		m.pending.drop(w.body)
		all = append(all, b)
	}
	delete(m.keeping.former.pending, one.Session.ID)
	return all
}

// dropKept ends the connections that are kept.
func (m *Host) dropKept() {
	if k := m.keeping; k != nil {
		for _, one := range k.order {
			m.goOn(one, false)
		}
		m.keeping = nil
	}
}

// expireKept ends the connections that were kept for too long.
func (m *Host) expireKept() {
	k := m.keeping
	if k == nil || m.Clock.Now() <= k.until {
		return
	}
	now, ended := m.Clock.Now(), 0
	k.until = math.MaxInt64
	for _, one := range k.order {
		switch {
		case k.byID[one.Session.ID] != one:
		case one.until < now:
			m.goOn(one, false)
			ended++
		default:
			k.until = min(k.until, one.until)
		}
	}
	if ended > 0 {
		m.Log.Warn("closing client connections that outlived the leader: no other leader has granted their sessions",
			zap.Int("sessions", ended))
	}
}
