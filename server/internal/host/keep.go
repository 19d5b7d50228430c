package host

import (
	"cmp"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A hand-over of the leadership costs no client of a Warren server its connection.
//
//   - Before it hands over, the leader asks its Warren learners to hold the requests of their clients (HOLD). A
//     learner answers behind the last request that it has forwarded. The leader takes no more requests of its own
//     clients. Then everything that was taken is committed, and the leader hands over.
//   - A server whose role ends by that hand-over keeps the connections of its clients. Requests that arrive wait.
//   - When the server serves again, it asks the next leader for the sessions of these connections (RECLAIM). A
//     connection whose session is granted goes on, with the requests that wait. The others end, and so do all when
//     keepMax has passed.
//
// To a client this looks like a slow answer. To the ensemble it looks as if the client had reconnected to the same
// server. Two rules make sure that a connection does not go on whose client has left it for another server, because
// its requests would be executed after newer ones of the client:
//
//   - When a session moves, the leader tells the learner that had it (MOVED). While a hand-over is prepared no session
//     moves. So when HANDOVER arrives, which follows on the same link, the learner knows which sessions are its own.
//   - The next leader grants a session only as long as no other server has asked for it. No other leadership may have
//     been between, to which the client may have shown itself elsewhere: the epoch must be the next one.
//
// A server that loads its state anew ends the connections: their watches would miss changes.

const (
	// keepMax is how long connections are kept without a leader that grants their sessions.
	keepMax = 2 * time.Second
	// holdMax is how long a leader waits until its learners hold their requests and its own syncs are answered. The
	// clients of a learner that has not answered by then lose their connections, as in an election.
	holdMax = 500 * time.Millisecond
)

// handing is a hand-over of this leader that is being prepared, or has begun.
type handing struct {
	do    func() error        // begins the hand-over
	asked []*peers.Link       // learners that were asked to hold requests
	waits map[zab.LinkID]bool // those that have not answered
	until int64               // when the hand-over begins in any case, ns on the server's clock
	begun bool                // do was called
}

// handOver calls do, which begins a hand-over, when all learners hold the requests of their clients.
func (l *leading) handOver(do func() error) error {
	m := l.m
	switch {
	case m.peers == nil, l.handing != nil && l.handing.begun:
		return do()
	case l.handing != nil:
		l.handing.do = do // the server is to stop as well
		return nil
	}
	h := &handing{do: do, waits: map[zab.LinkID]bool{}, until: m.Clock.Now() + int64(holdMax)}
	for _, id := range inOrder(m.lease.exchanges, cmp.Compare) { // learners that are up to date
		if link := m.links[id]; link != nil && !link.Dialled && m.warren[id] {
			h.asked, h.waits[id] = append(h.asked, link), true
		}
	}
	l.handing = h
	l.tell(peers.PacketHold)
	return nil
}

// tell sends a packet without data to the learners that were asked to hold requests.
func (l *leading) tell(t proto.PacketType) {
	for _, link := range l.handing.asked {
		if l.m.links[link.ID] == link {
			link.SendPacket(&peers.Packet{Type: t, Zxid: -1})
			l.m.touch(link)
		}
	}
}

// maybeHand begins the hand-over that is being prepared if nothing is left to wait for.
func (l *leading) maybeHand() {
	h := l.handing
	if h == nil || h.begun {
		return
	}
	answered := len(h.waits) == 0 && len(l.txns) == 0 && len(l.held) == 0
	if !answered && l.m.Clock.Now() < h.until {
		return
	}
	h.begun = true
	l.m.again = true
	if err := h.do(); err != nil {
		l.m.Log.Warn("no hand-over", zap.Error(err))
		l.tell(peers.PacketUnhold)
		l.handing = nil
	}
}

// reclaimed answers a learner that asks for the session of a client which has kept its connection.
func (l *leading) reclaimed(link *peers.Link, p *peers.Packet) {
	r := proto.NewReader(p.Data)
	id := proto.SessionID(r.Int64())
	granted := l.m.MayAnswer() && l.m.Tracker.Reclaim(id, link.ID)
	data := proto.AppendBool(proto.AppendInt64(nil, int64(id)), granted)
	link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: l.next - 1, Data: data})
	l.m.touch(link)
}

// moved tells the learner that had a session that it is elsewhere now.
func (l *leading) moved(id proto.SessionID, from, to zab.LinkID) {
	if link := l.m.links[from]; link != nil && from != to && l.m.warren[from] {
		link.SendPacket(&peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, int64(id))})
		l.m.touch(link)
	}
}

// keeping are the client connections that outlive a hand-over, until each goes on or ends.
type keeping struct {
	epoch int64 // of the leadership that was handed over
	// former is the role that has ended, of a learner. It goes on to answer requests that it has forwarded: their
	// txns are committed, and come back when this server is up to date again at the latest.
	former *following
	until  int64 // when those that are left end, ns on the server's clock
	order  []*kept
	byID   map[proto.SessionID]*kept
	waited map[flow.Client]*kept
}

// kept is one of these connections.
type kept struct {
	flow.Held
	batches []*flow.Batch // requests that wait
}

// keep lets the connections of clients outlive the role that ends, if it ends by a hand-over. It returns nil if it
// does not. It is called before the role ends.
func (m *Host) keep() *keeping {
	k := &keeping{until: m.Clock.Now() + int64(keepMax), byID: map[proto.SessionID]*kept{},
		waited: map[flow.Client]*kept{}}
	switch r := m.role.(type) {
	case *leading:
		if r.handing == nil || !r.handing.begun || m.status.Stopped || m.stop {
			return nil
		}
		k.epoch = r.epoch
	case *following:
		if !r.handed {
			return nil
		}
		k.epoch, k.former = r.epoch, r
	default:
		return nil
	}
	own := m.Tracker.Own()
	for _, h := range m.clients.HoldAll(func(s *sessions.Session) bool { return own[s] }) {
		one := &kept{Held: h}
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
	switch r := m.role.(type) {
	case *leading:
		for _, one := range k.order {
			mayGoOn := m.status.Epoch == k.epoch+1 && !k.owes(one)
			m.goOn(one, mayGoOn && m.Tracker.Retake(one.Session, one.Client, true, m.Clock.Now()))
		}
	case *following:
		if r.link == nil || !m.warren[r.link.ID] || m.status.Epoch != k.epoch+1 {
			m.dropKept()
			return
		}
		for _, one := range k.order {
			if k.owes(one) {
				m.goOn(one, false)
				continue
			}
			data := proto.AppendInt64(nil, int64(one.Session.ID))
			r.link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: -1, Data: data})
		}
		m.touch(r.link)
	}
}

// owes reports whether a request of a connection that was given to the former leader is not answered.
func (k *keeping) owes(one *kept) bool {
	return k.former != nil && k.former.pending[one.Session.ID] != nil
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
	if k.owes(one) {
		k.former.lose(one.Session.ID)
	}
	if !one.Client.Release(m.generation.Load(), granted) && granted {
		m.Tracker.Unbind(one.Session, one.Client) // the client has closed it meanwhile
	}
	m.waiting = append(m.waiting, one.batches...) // take drops those of a connection that does not go on
	m.again = true
	if len(k.byID) == 0 {
		m.keeping = nil
	}
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
	if m.keeping != nil && m.Clock.Now() > m.keeping.until {
		m.Log.Warn("closing client connections that outlived a hand-over: no leader has granted their sessions",
			zap.Int("sessions", len(m.keeping.byID)))
		m.dropKept()
	}
}
